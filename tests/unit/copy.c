/* Copies: what they move, and that they touch nothing else. */
#include "core/copy.h"
#include "tests/unit/unit.h"

enum { EDGE = 128, ROOM = (3 << 20) + 4 * EDGE };

static unsigned char *from, *to, *expected;

static void get_room(void)
{
    struct chance c = {1};
    from = malloc(ROOM);
    to = malloc(ROOM);
    expected = malloc(ROOM);
    for (size_t i = 0; i < ROOM; i += 8) {
        uint64_t bits = any(&c);
        memcpy(from + i, &bits, 8);
    }
}

static void drop_room(void)
{
    free(from);
    free(to);
    free(expected);
}

typedef void copy_fn(void *to, const void *from, size_t bytes);

static void by_copy_bytes(void *t, const void *f, size_t bytes)
{
    copy_bytes(t, f, bytes);
}

static void check(copy_fn *copy, size_t bytes, size_t to_shift, size_t from_shift)
{
    size_t all = bytes + 3 * EDGE;
    memset(to, 0x5a, all);
    memset(expected, 0x5a, all);
    memcpy(expected + EDGE + to_shift, from + from_shift, bytes);
    copy(to + EDGE + to_shift, from + from_shift, bytes);
    INSIST(!memcmp(to, expected, all), "%zu bytes from +%zu to +%zu", bytes, from_shift, to_shift);
}

START_TEST(every_small_size_at_every_alignment)
{
    get_room();
    for (size_t bytes = 0; bytes < 300; bytes++)
        for (size_t shift = 0; shift < 64; shift++) {
            check(by_copy_bytes, bytes, shift, bytes % 64);
            check(copy_stream, bytes, shift, bytes % 64);
            check(copy_stream, bytes, bytes % 64, shift);
        }
    drop_room();
}
END_TEST

START_TEST(sizes_around_what_is_streamed)
{
    get_room();
    struct chance c = {1};
    size_t rounds = effort(200);
    for (size_t i = 0; i < rounds; i++)
        check(by_copy_bytes, COPY_STREAM_MIN - 70 + below(&c, 140), below(&c, 64), below(&c, 64));
    check(by_copy_bytes, COPY_STREAM_MIN, 0, 0);
    check(by_copy_bytes, COPY_STREAM_MIN - 1, 0, 0);
    check(by_copy_bytes, (size_t)3 << 20, 3, 5);
    drop_room();
}
END_TEST

START_TEST(onto_itself)
{
    get_room();
    for (size_t bytes = 0; bytes < ROOM; bytes = bytes * 3 + 1) {
        memcpy(to, from, ROOM);
        copy_bytes(to + 5, to + 5, min_size(bytes, ROOM - 5));
        ck_assert_mem_eq(to, from, ROOM);
    }
    drop_room();
}
END_TEST

START_TEST(blocks_at_any_stride)
{
    get_room();
    struct chance c = {1};
    unsigned rounds = effort(20000);
    for (unsigned round = 0; round < rounds; round++) {
        static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 17, 24, 100};
        size_t bytes = sizes[below(&c, 11)], blocks = below(&c, 20);
        ptrdiff_t to_stride = (ptrdiff_t)bytes + below(&c, 30);
        ptrdiff_t from_stride = (ptrdiff_t)below(&c, 200) - 100; /* sources may overlap */
        to_stride = below(&c, 2) ? to_stride : -to_stride;
        size_t middle = ROOM / 2 + below(&c, 16), all = 6000;
        memset(to + middle - all, 0x5a, 2 * all);
        memset(expected + middle - all, 0x5a, 2 * all);
        for (size_t b = 0; b < blocks; b++)
            memcpy(expected + middle + (ptrdiff_t)b * to_stride,
                   from + middle + (ptrdiff_t)b * from_stride, bytes);
        copy_blocks((char *)to + middle, to_stride, (char *)from + middle, from_stride, bytes, blocks);
        INSIST(!memcmp(to + middle - all, expected + middle - all, 2 * all),
               "%zu blocks of %zu bytes, %td to %td apart", blocks, bytes, from_stride, to_stride);
    }
    drop_room();
}
END_TEST

/* ---- what a peer sees ---- */

static _Alignas(LINE) unsigned char streamed[4096];
static _Atomic uint32_t told, heard;

/* Who sees the flag that follows a stream sees the stream, though its stores bypass the caches. */
static void stream_or_look(unsigned me)
{
    uint32_t rounds = effort(100000);
    unsigned char data[sizeof streamed];
    for (uint32_t round = 1; round <= rounds; round++) {
        size_t bytes = round % sizeof streamed;
        if (me == 0) {
            memset(data, (int)round, bytes);
            copy_stream(streamed, data, bytes);
            atomic_store_explicit(&told, round, memory_order_release);
            while (atomic_load(&heard) != round)
                sched_yield();
        } else {
            while (atomic_load_explicit(&told, memory_order_acquire) != round)
                ;
            for (size_t at = bytes; at-- > 0;)
                EXPECT(streamed[at] == (unsigned char)round, "%zu of %zu", at, bytes);
            atomic_store(&heard, round);
        }
    }
}

START_TEST(a_stream_is_seen_before_what_follows_it)
{
    as_ranks(2, stream_or_look);
}
END_TEST

/* To ThreadSanitizer what follows would be a race: it does not know which stores are whole. */
#if !defined(__SANITIZE_THREAD__)
static _Alignas(LINE) char polled[8];
static _Atomic bool over;
static size_t width;

static void write_or_poll(unsigned me)
{
    static const unsigned char zeroes[8];
    unsigned rounds = effort(1000000);
    unsigned char ones[8], seen[8];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; me == 0 && i < rounds; i++) {
        copy_bytes(polled, i % 2 ? zeroes : ones, width);
        __asm__ volatile("" ::: "memory");
    }
    if (me == 0)
        atomic_store(&over, true);
    while (!atomic_load(&over)) {
        copy_bytes(seen, polled, width);
        for (size_t i = 1; i < width; i++)
            EXPECT(seen[i] == seen[0], "half of %zu bytes", width);
    }
}

START_TEST(a_polled_element_is_seen_whole)
{
    for (width = 1; width <= 8; width *= 2) {
        atomic_store(&over, false);
        memset(polled, 0, sizeof polled);
        as_ranks(2, write_or_poll);
    }
}
END_TEST
#define POLLED , a_polled_element_is_seen_whole
#else
#define POLLED
#endif

UNIT_MAIN(every_small_size_at_every_alignment, sizes_around_what_is_streamed, onto_itself,
          blocks_at_any_stride, a_stream_is_seen_before_what_follows_it POLLED)
