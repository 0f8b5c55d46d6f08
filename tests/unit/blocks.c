/* The runs of pages from which large blocks of malloc are cut: none overlap, empty ones were never
 * kept, neighbours are joined, and nothing is lost. A model records the owner of each page. */
#include "heap/blocks.c"

#include "tests/unit/unit.h"

#include <string.h>

enum { PAGES = 4096, BASE = 512 };

static struct page_run table[PAGES];
static struct block_heap blocks;

static void begin(void)
{
    memset(table, 0, sizeof table);
    blocks_open(&blocks, table, BASE);
    blocks.ready = PAGES;
}

static uint32_t take(uint32_t pages, uint32_t align)
{
    bool is_empty;
    return blocks_take(&blocks, pages, align, &is_empty);
}

START_TEST(reuses_the_same_pages)
{
    begin();
    uint32_t a = take(10, 1), b = take(10, 1);
    ck_assert_uint_eq(b, a + 10);
    blocks_give(&blocks, a, RUN_KEPT);
    ck_assert_uint_eq(take(10, 1), a);
}
END_TEST

/* Lengths that differ by less than a quarter are in one list, the run that was freed last first. */
START_TEST(takes_the_shortest_run_that_fits)
{
    begin();
    uint32_t a = take(33, 1), b;
    take(1, 1);
    b = take(39, 1);
    take(1, 1);
    blocks_give(&blocks, a, RUN_KEPT);
    blocks_give(&blocks, b, RUN_KEPT);
    ck_assert_uint_eq(take(32, 1), a);
    ck_assert_uint_eq(take(20, 1), b);
}
END_TEST

START_TEST(keeps_the_offset)
{
    begin();
    uint32_t a = take(10, 1);
    blocks.run[a].offset = 192;
    ck_assert(blocks_resize(&blocks, a, 4) && blocks.run[a].offset == 192);
    ck_assert(blocks_resize(&blocks, a, 9) && blocks.run[a].offset == 192);
    blocks_give(&blocks, a, RUN_KEPT);
    ck_assert_uint_eq(take(10, 1), a);
    ck_assert_uint_eq(blocks.run[a].offset, 0);
}
END_TEST

START_TEST(joins_neighbours)
{
    begin();
    uint32_t at[3];
    for (int i = 0; i < 3; i++)
        at[i] = take(10, 1);
    take(1, 1);
    blocks_give(&blocks, at[0], RUN_KEPT);
    blocks_give(&blocks, at[2], RUN_KEPT);
    blocks_give(&blocks, at[1], RUN_KEPT);
    ck_assert_uint_eq(take(30, 1), at[0]);
}
END_TEST

START_TEST(keeps_kept_and_empty_pages_apart)
{
    begin();
    bool is_empty;
    uint32_t a = take(10, 1), b = take(10, 1);
    take(1, 1);
    blocks_give(&blocks, a, RUN_EMPTY);
    blocks_give(&blocks, b, RUN_KEPT);
    ck_assert_uint_eq(blocks_take(&blocks, 20, 1, &is_empty), 21);
    ck_assert(is_empty);
    ck_assert_uint_eq(blocks_take(&blocks, 10, 1, &is_empty), b);
    ck_assert(!is_empty);
    ck_assert_uint_eq(blocks_take(&blocks, 10, 1, &is_empty), a);
    ck_assert(is_empty);
}
END_TEST

START_TEST(finds_the_start_of_blocks_only)
{
    begin();
    uint32_t a = take(10, 1);
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_uint_eq(blocks_length(&blocks, i), i == a ? 10 : 0);
    blocks_give(&blocks, a, RUN_KEPT);
    ck_assert_uint_eq(blocks_length(&blocks, a), 0);
}
END_TEST

START_TEST(resizes_in_place)
{
    begin();
    uint32_t a = take(10, 1);
    ck_assert(blocks_resize(&blocks, a, 20)); /* the last block */
    uint32_t b = take(5, 1);
    ck_assert_uint_eq(b, a + 20);
    ck_assert(!blocks_resize(&blocks, a, 21));
    ck_assert(blocks_resize(&blocks, a, 3));
    ck_assert_uint_eq(blocks_length(&blocks, a), 3);
    ck_assert(blocks_resize(&blocks, a, 20));
    ck_assert(!blocks_resize(&blocks, b, PAGES));
    ck_assert(blocks_resize(&blocks, b, PAGES - 20));
}
END_TEST

START_TEST(grows_into_spare_pages)
{
    begin();
    bool is_empty;
    uint32_t a = blocks_take_growing(&blocks, 10, 10, &is_empty), b = take(1, 1);
    ck_assert(is_empty && blocks.live == 11);
    ck_assert_uint_eq(b, a + 20);
    ck_assert_uint_eq(blocks_length(&blocks, a), 10);
    ck_assert(blocks_resize(&blocks, a, 15));
    ck_assert_uint_eq(blocks_length(&blocks, a), 15);
    ck_assert(!blocks_resize(&blocks, a, 21));
    blocks_give(&blocks, a, RUN_KEPT);
    ck_assert_uint_eq(blocks.kept, 15);
    ck_assert_uint_eq(blocks_take_growing(&blocks, 15, 15, &is_empty), a);
    ck_assert(!is_empty);
    ck_assert_uint_eq(blocks_take(&blocks, 5, 1, &is_empty), a + 15);
    ck_assert(is_empty);
}
END_TEST

START_TEST(fails_when_full)
{
    begin();
    ck_assert_uint_eq(take(PAGES + 1, 1), BLOCKS_NONE);
    uint32_t a = take(PAGES, 1);
    ck_assert_uint_eq(a, 0);
    ck_assert_uint_eq(take(1, 1), BLOCKS_NONE);
    blocks_give(&blocks, a, RUN_EMPTY);
    ck_assert_uint_eq(blocks.next, 0);
    ck_assert_uint_eq(take(1, 1024), 512); /* the first page is number 512 of the address space */
}
END_TEST

START_TEST(gives_the_longest_kept_run_up_first)
{
    begin();
    uint32_t a = take(10, 1), b;
    take(1, 1);
    b = take(100, 1);
    take(1, 1);
    ck_assert_uint_eq(blocks_take_kept(&blocks), BLOCKS_NONE);
    blocks_give(&blocks, a, RUN_KEPT);
    blocks_give(&blocks, b, RUN_KEPT);
    ck_assert_uint_eq(blocks_take_kept(&blocks), b);
    ck_assert_uint_eq(blocks.kept, 10);
    ck_assert_uint_eq(blocks_length(&blocks, b), 100);
}
END_TEST

/* ---- random calls ---- */

enum { BLOCKS = 64 };
static struct {
    uint32_t at, pages;
} block[BLOCKS];
static uint8_t owner[PAGES]; /* 1 + the number of the block; 0: none */
static bool touched[PAGES];  /* since the page was empty */

static void own(int i, uint32_t from, uint32_t to, uint8_t now)
{
    for (uint32_t p = block[i].at + from; p < block[i].at + to; p++) {
        ck_assert_uint_eq(owner[p], now ? 0 : i + 1);
        owner[p] = now;
        touched[p] |= now;
    }
}

static void take_block(int i, struct chance *seed)
{
    uint32_t pages = 1 + below(seed, below(seed, 8) ? 20 : 600);
    uint32_t align = 1U << (below(seed, 4) ? 0 : below(seed, 10));
    bool is_empty, is_growing = align == 1 && below(seed, 3) == 0;
    uint32_t at = is_growing
                      ? blocks_take_growing(&blocks, pages, below(seed, pages + 1), &is_empty)
                      : blocks_take(&blocks, pages, align, &is_empty);
    if (at == BLOCKS_NONE)
        return;
    ck_assert_uint_eq((BASE + at) % align, 0);
    for (uint32_t p = at; is_empty && p < at + pages; p++)
        ck_assert(!touched[p]);
    block[i].at = at;
    block[i].pages = pages;
    own(i, 0, pages, (uint8_t)(i + 1));
}

static void give_block(int i, struct chance *seed)
{
    enum run_kind kind = below(seed, 3) ? RUN_KEPT : RUN_EMPTY;
    own(i, 0, block[i].pages, 0);
    for (uint32_t p = 0; kind == RUN_EMPTY && p < block[i].pages; p++)
        touched[block[i].at + p] = false;
    blocks_give(&blocks, block[i].at, kind);
    block[i].pages = 0;
}

static void resize_block(int i, struct chance *seed)
{
    uint32_t old = block[i].pages, pages = 1 + below(seed, 2 * old);
    if (!blocks_resize(&blocks, block[i].at, pages))
        return;
    if (pages < old)
        own(i, pages, old, 0);
    else
        own(i, old, pages, (uint8_t)(i + 1));
    block[i].pages = pages;
}

static void drop_kept(void)
{
    uint32_t at = blocks_take_kept(&blocks);
    if (at == BLOCKS_NONE)
        return;
    for (uint32_t p = at; p < at + blocks_length(&blocks, at); p++) {
        ck_assert_uint_eq(owner[p], 0);
        touched[p] = false;
    }
    blocks_give(&blocks, at, RUN_EMPTY);
}

static void check_all(void)
{
    uint32_t live = 0;
    ck_assert(valid(&blocks));
    for (int i = 0; i < BLOCKS; i++) {
        live += block[i].pages;
        if (block[i].pages)
            ck_assert_uint_eq(blocks_length(&blocks, block[i].at), block[i].pages);
    }
    ck_assert_uint_eq(blocks.live, live);
}

START_TEST(random_calls)
{
    begin();
    struct chance seed = {7};
    memset(block, 0, sizeof block);
    for (int n = 0; n < (int)effort(100000); n++) {
        int i = (int)below(&seed, BLOCKS);
        if (!block[i].pages)
            take_block(i, &seed);
        else if (below(&seed, 2))
            give_block(i, &seed);
        else
            resize_block(i, &seed);
        if (n % 50 == 0)
            drop_kept();
        if (n % 64 == 0)
            check_all();
    }
    for (int i = 0; i < BLOCKS; i++)
        if (block[i].pages)
            give_block(i, &seed);
    while (blocks.kept)
        drop_kept();
    ck_assert_uint_eq(blocks.next, 0);
}
END_TEST

UNIT_MAIN(reuses_the_same_pages, takes_the_shortest_run_that_fits, keeps_the_offset,
          joins_neighbours, keeps_kept_and_empty_pages_apart, finds_the_start_of_blocks_only,
          resizes_in_place, grows_into_spare_pages, fails_when_full,
          gives_the_longest_kept_run_up_first, random_calls)
