/* Ranges attached to dynamic windows: which are found, while the owner changes its table, and what
 * operations do about them. */
#include "tests/unit/windows.h"

#include <time.h>

enum { STEP = 256, LENGTH = 96, MANY = 1000 };

static char *ground;

static void create_dynamic(unsigned size)
{
    struct win_offer offers[UNIT_RANKS_MAX];
    open_heap();
    ground = arena_alloc((MANY + 1) * STEP, ARENA_GRAIN);
    memset(ground, 0, (MANY + 1) * STEP);
    for (unsigned r = 0; r < size; r++) {
        view[r] = win_prepare(size, r);
        ck_assert(win_make_dynamic(view[r]));
        win_offer(view[r], NULL, 0, 1, REASON_NONE, &offers[r]);
    }
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(win_settle(view[r], offers), REASON_NONE);
}

static void free_dynamic(unsigned size)
{
    as_ranks(size, leave_window);
    ck_assert_int_eq(arena_free(ground), ARENA_FREED);
}

static bool attach(unsigned me, unsigned number)
{
    char *at = ground + number * STEP;
    return attached_add(view[me]->attached, at, LENGTH, node_offset(at));
}

static void detach(unsigned me, unsigned number)
{
    attached_remove(view[me]->attached, ground + number * STEP);
}

/* Look up bytes [first, last) of a range of rank 0. */
static enum attached_part find(unsigned number, long first, long last, struct attached_found *found)
{
    uint64_t base = (uintptr_t)ground + (uint64_t)number * STEP;
    return attached_find(view[0]->attached->peer[0].table, base + (uint64_t)first,
                         base + (uint64_t)last, found);
}

START_TEST(ranges_are_found_wholly_partly_or_not)
{
    struct attached_found found;
    create_dynamic(2);
    ck_assert_int_eq(find(0, 0, LENGTH, &found), ATTACHED_NONE);
    ck_assert(attach(0, 1));
    ck_assert_int_eq(find(1, 0, LENGTH, &found), ATTACHED_ALL);
    ck_assert_uint_eq(found.position, node_offset(ground + STEP));
    ck_assert_int_eq(find(1, LENGTH - 1, LENGTH, &found), ATTACHED_ALL);
    ck_assert_int_eq(find(1, -1, 1, &found), ATTACHED_SOME);
    ck_assert_int_eq(find(1, LENGTH - 1, LENGTH + 1, &found), ATTACHED_SOME);
    ck_assert_int_eq(find(1, -5, LENGTH + 5, &found), ATTACHED_SOME);
    ck_assert_int_eq(find(1, -1, 0, &found), ATTACHED_NONE);
    ck_assert_int_eq(find(1, LENGTH, LENGTH + 1, &found), ATTACHED_NONE);
    detach(0, 0);
    ck_assert_int_eq(find(1, 0, LENGTH, &found), ATTACHED_ALL);
    detach(0, 1);
    ck_assert_int_eq(find(1, 0, LENGTH, &found), ATTACHED_NONE);
    free_dynamic(2);
}
END_TEST

START_TEST(overlapping_and_empty_ranges_are_not_added)
{
    create_dynamic(2);
    ck_assert(attach(0, 3));
    ck_assert(!attach(0, 3));
    char *at = ground + 3 * STEP;
    ck_assert(!attached_add(view[0]->attached, at - 1, 2, node_offset(at - 1)));
    ck_assert(!attached_add(view[0]->attached, at + LENGTH - 1, 2, node_offset(at)));
    ck_assert(!attached_add(view[0]->attached, at - STEP, 2 * STEP, node_offset(at - STEP)));
    ck_assert(!attached_add(view[0]->attached, at + STEP, 0, node_offset(at + STEP)));
    ck_assert(attached_add(view[0]->attached, at - 1, 1, node_offset(at - 1)));
    ck_assert(attached_add(view[0]->attached, at + LENGTH, 1, node_offset(at + LENGTH)));
    free_dynamic(2);
}
END_TEST

START_TEST(ranges_of_many_blocks)
{
    struct attached_found found;
    create_dynamic(2);
    uint64_t before = arena_use().live;
    for (unsigned i = 0; i < MANY; i++)
        ck_assert(attach(0, i * 7 % MANY));
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_int_eq(find(i, 0, LENGTH, &found), ATTACHED_ALL);
        ck_assert_uint_eq(found.position, node_offset(ground + i * STEP));
    }
    for (unsigned i = 0; i < MANY; i += 2)
        detach(0, i);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_int_eq(find(i, 0, 1, &found), i % 2 ? ATTACHED_ALL : ATTACHED_NONE);
    ck_assert_uint_eq(arena_use().live, before);
    free_dynamic(2);
}
END_TEST

enum { DISTANCE = 64 };

static void add_at(unsigned i)
{
    char *at = (char *)(uintptr_t)(((uint64_t)i + 1) * DISTANCE);
    ck_assert(attached_add(view[0]->attached, at, DISTANCE / 2, (uintptr_t)at));
}

static void remove_at(unsigned i)
{
    attached_remove(view[0]->attached, (char *)(uintptr_t)(((uint64_t)i + 1) * DISTANCE));
}

/* The test takes 0.1 s; with one array of all ranges it would take 10 to 20 s. */
START_TEST(a_change_moves_few_ranges)
{
#ifdef __SANITIZE_THREAD__
    enum { RANGES = 10000 };
#else
    enum { RANGES = 100000 };
#endif
    enum { SECONDS = 6 };
    create_dynamic(2);
    clock_t start = clock();
    for (unsigned i = RANGES; i-- > 0;)
        add_at(i);
    for (unsigned i = 0; i < RANGES; i++)
        remove_at(i);
    ck_assert_int_lt(clock() - start, (clock_t)SECONDS * CLOCKS_PER_SEC);
    free_dynamic(2);
}
END_TEST

/* Rank 0 adds and removes all ranges but one in several orders, while others look them up. */
static _Atomic bool done;

enum { STAYS = MANY / 2 };

static void change_all(void)
{
    static const unsigned steps[] = {1, MANY - 1, 13};
    enum { ORDERS = sizeof steps / sizeof *steps };
    for (unsigned round = 0; round < ORDERS * ORDERS; round++) {
        unsigned add = steps[round % ORDERS], remove = steps[round / ORDERS];
        for (uint64_t i = 0; i < MANY; i++)
            EXPECT(attach(0, i * add % MANY) == (i * add % MANY != STAYS));
        for (uint64_t i = 0; i < MANY; i++)
            if (i * remove % MANY != STAYS)
                detach(0, i * remove % MANY);
    }
}

static void change_or_look(unsigned me)
{
    struct attached_found found;
    if (me == 0) {
        change_all();
        atomic_store(&done, true);
        return;
    }
    for (unsigned i = 0; !atomic_load(&done); i++) {
        EXPECT(find(STAYS, 0, LENGTH, &found) == ATTACHED_ALL);
        EXPECT(found.position == node_offset(ground + STAYS * STEP));
        unsigned number = i % MANY;
        if (find(number, 0, 1, &found) == ATTACHED_NONE)
            continue;
        EXPECT(found.begin == (uintptr_t)ground + (uint64_t)number * STEP);
        EXPECT(found.end == found.begin + LENGTH);
        EXPECT(found.position == node_offset(ground + number * STEP));
    }
}

START_TEST(a_reader_finds_ranges_while_the_owner_changes_others)
{
    create_dynamic(3);
    atomic_store(&done, false);
    ck_assert(attach(0, STAYS));
    as_ranks(3, change_or_look);
    free_dynamic(3);
}
END_TEST

static enum win_error put_at(const char *at, size_t bytes)
{
    static char data[2 * STEP];
    memset(data, 7, sizeof data);
    return win_put(view[1], buffer(data, BYTES, bytes), 0, (int64_t)(uintptr_t)at,
                   buffer(NULL, BYTES, bytes));
}

static void put_beside_and_inside(void)
{
    char *at = ground + STEP;
    ck_assert_int_eq(put_at(at, 8), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock(view[1], WIN_SHARED, 0), WIN_OK);
    ck_assert_int_eq(put_at(at, 8), WIN_HOST);
    ck_assert(attach(0, 1));
    ck_assert_int_eq(put_at(at, LENGTH), WIN_OK);
    ck_assert(at[0] == 7 && at[LENGTH - 1] == 7);
    ck_assert_int_eq(put_at(at - 1, 2), WIN_DIVIDED);
    ck_assert_int_eq(put_at(at, LENGTH + 1), WIN_DIVIDED);
    ck_assert_int_eq(put_at(at + LENGTH, 1), WIN_HOST);
    ck_assert_int_eq(put_at(NULL, 1), WIN_HOST);
    ck_assert_int_eq(put_at(NULL, 0), WIN_OK);
    ck_assert(!at[-1] && !at[LENGTH]);
}

START_TEST(operations_go_by_what_is_attached)
{
    create_dynamic(2);
    put_beside_and_inside();
    ck_assert_int_eq(win_unlock(view[1], 0), WIN_OK);
    free_dynamic(2);
}
END_TEST

/* A datatype may begin before its displacement. */
static void locate_in_kept_range(char *at)
{
    int64_t disp = (int64_t)(uintptr_t)at + 8;
    char *found = NULL;
    ck_assert_int_eq(win_locate(view[1], 0, disp, -8, LENGTH - 8, &found), WIN_OK);
    ck_assert_ptr_eq(found, at + 8);
    ck_assert_int_eq(win_locate(view[1], 0, disp, -9, 8, &found), WIN_DIVIDED);
    ck_assert_int_eq(win_locate(view[1], 0, disp, -8, LENGTH, &found), WIN_DIVIDED);
    ck_assert_int_eq(win_locate(view[1], 0, disp, LENGTH - 8, LENGTH, &found), WIN_HOST);
    ck_assert_int_eq(win_locate(view[1], 0, disp, -16, -8, &found), WIN_HOST);
    ck_assert_int_eq(win_locate(view[1], 0, disp, 8, -8, &found), WIN_HOST);
}

START_TEST(one_thread_keeps_the_range_it_found_until_the_table_changes)
{
    create_dynamic(2);
    thread_concurrent = false;
    put_beside_and_inside();
    char *at = ground + STEP;
    int64_t disp = (int64_t)(uintptr_t)at;
    ck_assert_int_eq(put_at(at, 8), WIN_OK);
    ck_assert_ptr_eq(win_at(view[1], 0, disp + 8, 8), at + 8);
    ck_assert_ptr_eq(win_at(view[1], 0, disp, LENGTH), at);
    ck_assert(!win_at(view[1], 0, disp, LENGTH + 1));
    ck_assert(!win_at(view[1], 0, disp - 1, 1));
    ck_assert(!win_at(view[1], 0, INT64_MIN, 1));
    ck_assert(!win_at(view[1], 0, INT64_MAX, 1));
    locate_in_kept_range(at);
    ck_assert_int_eq(win_unlock(view[1], 0), WIN_OK);
    ck_assert_int_eq(win_lock(view[1], WIN_SHARED, 0), WIN_OK);
    ck_assert_ptr_eq(win_at(view[1], 0, disp, 8), at);
    detach(0, 1); /* in this epoch, the range is not searched for again */
    ck_assert_int_eq(put_at(at, 8), WIN_OK);
    ck_assert_int_eq(win_unlock(view[1], 0), WIN_OK);
    ck_assert_int_eq(win_lock(view[1], WIN_SHARED, 0), WIN_OK);
    ck_assert(!win_at(view[1], 0, disp, 8));
    ck_assert_int_eq(put_at(at, 8), WIN_HOST);
    ck_assert_int_eq(win_unlock(view[1], 0), WIN_OK);
    thread_concurrent = true;
    free_dynamic(2);
}
END_TEST

UNIT_MAIN(ranges_are_found_wholly_partly_or_not, overlapping_and_empty_ranges_are_not_added,
          ranges_of_many_blocks, a_change_moves_few_ranges,
          a_reader_finds_ranges_while_the_owner_changes_others, operations_go_by_what_is_attached,
          one_thread_keeps_the_range_it_found_until_the_table_changes)
