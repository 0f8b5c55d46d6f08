/* Copies move all their data and write nothing else. */
#include "tests/unit/unit.h"

/* Records whether non-temporal stores are still unfenced. Processors nearly always hide a missing
 * fence. */
static bool in_flight;
#if defined(__x86_64__)
#include <emmintrin.h>
#define _mm_stream_si128(at, value) (in_flight = true, _mm_store_si128(at, value))
#define _mm_sfence()                (in_flight = false)
#endif

/* The longest piece of a long copy, and where its first piece went. */
static size_t longest;
static unsigned char *first_piece;

static void *observed_memmove(void *to, const void *from, size_t bytes)
{
    first_piece = longest ? first_piece : to;
    longest = bytes > longest ? bytes : longest;
    return memmove(to, from, bytes);
}

#define memmove observed_memmove
#include "core/copy.c"
#undef memmove

enum { EDGE = 128, LONG = 8 << 20, ROOM = LONG + 8 * EDGE };

static unsigned char *from, *to, *expected;

static void allocate_buffers(void)
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

static void free_buffers(void)
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
    INSIST(!in_flight, "%zu bytes are not ordered before later stores", bytes);
    INSIST(!memcmp(to, expected, all), "%zu bytes from +%zu to +%zu", bytes, from_shift, to_shift);
}

START_TEST(every_small_size_at_every_alignment)
{
    allocate_buffers();
    for (size_t bytes = 0; bytes < 300; bytes++)
        for (size_t shift = 0; shift < 64; shift++) {
            check(by_copy_bytes, bytes, shift, bytes % 64);
            check(copy_nontemporal, bytes, shift, bytes % 64);
            check(copy_nontemporal, bytes, bytes % 64, shift);
        }
    free_buffers();
}
END_TEST

START_TEST(long_sizes)
{
    allocate_buffers();
    struct chance c = {1};
    size_t rounds = effort(200);
    for (size_t i = 0; i < rounds; i++)
        check(copy_nontemporal, LONG - 70 + below(&c, 140), below(&c, 64), below(&c, 64));
    check(copy_nontemporal, LONG, 0, 0);
    check(by_copy_bytes, LONG - 1, 0, 0);
    check(by_copy_bytes, (size_t)3 << 20, 3, 5);
    for (size_t pieces = 1; pieces < 4; pieces++)
        for (size_t more = 0; more < 3; more++)
            check(by_copy_bytes, pieces * COPY_PIECE - 1 + more, 3, 5);
    copy_cached = COPY_PIECE; /* longer copies are made in one piece */
    check(by_copy_bytes, 3 * COPY_PIECE + 1, 3, 5);
    copy_cached = 0;
    free_buffers();
}
END_TEST

START_TEST(sizes_of_several_pieces)
{
    allocate_buffers();
    for (size_t bytes = COPY_SHORT - 1; bytes < 4 * COPY_SHORT; bytes += COPY_SHORT / 2)
        for (size_t shift = 0; shift < 64; shift++) {
            check(by_copy_bytes, bytes, shift, bytes % 64);
            check(by_copy_bytes, bytes + 1, bytes % 64, shift);
        }
    free_buffers();
}
END_TEST

/* Copies to memory that is `distance` bytes past the source modulo 4096. */
static unsigned char *copy_at_distance(size_t distance, size_t bytes)
{
    unsigned char *t = to + EDGE + (-(uintptr_t)(to + EDGE) & 4095) + distance;
    unsigned char *f = from + (-(uintptr_t)from & 4095);
    longest = 0;
    memset(t - EDGE, 0x5a, bytes + 2 * EDGE);
    memset(expected, 0x5a, bytes + 2 * EDGE);
    memcpy(expected + EDGE, f, bytes);
    copy_bytes(t, f, bytes);
    INSIST(!memcmp(t - EDGE, expected, bytes + 2 * EDGE), "%zu bytes, distance %zu", bytes,
           distance);
    return t;
}

static size_t longest_piece(size_t distance, size_t bytes)
{
    copy_at_distance(distance, bytes);
    return longest;
}

/* At these distances `rep movsb` may be slow. */
START_TEST(pieces_are_short_at_a_small_distance)
{
    allocate_buffers();
    for (size_t bytes = 2 * COPY_SHORT; bytes <= 2 * COPY_PIECE; bytes *= 2) {
        size_t usual = min_size(bytes, COPY_PIECE);
        for (size_t distance = 1; distance < 64; distance++)
            INSIST(longest_piece(distance, bytes) <= COPY_SHORT, "%zu bytes, distance %zu", bytes,
                   distance);
        for (size_t distance = 64; distance < 4096; distance *= 2)
            ck_assert_uint_eq(longest_piece(distance, bytes), usual);
        ck_assert_uint_eq(longest_piece(0, bytes), usual);
        ck_assert_uint_eq(longest_piece(4095, bytes), usual);
    }
    free_buffers();
}
END_TEST

/* Long copies begin at the end there, others at the start. */
START_TEST(long_copies_at_a_small_distance_are_made_backwards)
{
    allocate_buffers();
    for (size_t distance = 0; distance < 128; distance++)
        for (size_t bytes = COPY_PIECE - 1; bytes < 3 * COPY_PIECE; bytes += COPY_PIECE + 1) {
            bool backwards = bytes > COPY_PIECE && distance > 0 && distance < 64;
            unsigned char *t = copy_at_distance(distance, bytes);
            INSIST(first_piece == (backwards ? t + bytes - COPY_SHORT : t),
                   "%zu bytes, distance %zu", bytes, distance);
        }
    free_buffers();
}
END_TEST

START_TEST(copies_within_themselves)
{
    allocate_buffers();
    for (size_t bytes = 0; bytes < ROOM; bytes = bytes * 3 + 1) {
        memcpy(to, from, ROOM);
        copy_bytes(to + 5, to + 5, min_size(bytes, ROOM - 5));
        ck_assert_mem_eq(to, from, ROOM);
        /* An error of the program, which has the result that memmove() gives. */
        size_t some = min_size(bytes, ROOM - 16);
        copy_bytes(to + 16, to, some);
        INSIST(some <= 8 || !memcmp(to + 16, from, some), "%zu bytes are shifted", some);
    }
    free_buffers();
}
END_TEST

START_TEST(blocks_at_any_stride)
{
    allocate_buffers();
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
        copy_blocks((char *)to + middle, to_stride, (char *)from + middle, from_stride, bytes,
                    blocks);
        INSIST(!memcmp(to + middle - all, expected + middle - all, 2 * all),
               "%zu blocks of %zu bytes, %td to %td apart", blocks, bytes, from_stride, to_stride);
    }
    free_buffers();
}
END_TEST

/* ---- copies that a peer observes ---- */

/* ThreadSanitizer reports a race here: it cannot know that the stores are single accesses. */
#if !defined(__SANITIZE_THREAD__)
static _Alignas(LINE) char polled[8];
static _Atomic bool over;
static size_t width;
static bool blocks;

/* Runs until the poller has read each value often enough; the machine may be busy. */
static void write_or_poll(unsigned me)
{
    static const unsigned char zeroes[8];
    unsigned changes = 0, enough = effort(20000);
    uint64_t start = sync_now_ns();
    unsigned char ones[8], seen[8], last = 0;
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; me == 0 && !atomic_load(&over); i++) {
        const char *data = (const char *)(i % 2 ? zeroes : ones);
        if (blocks)
            copy_blocks(polled, 8, data, 8, width, 1);
        else
            copy_bytes(polled, data, width);
        __asm__ volatile("" ::: "memory");
    }
    while (!atomic_load(&over)) {
        copy_bytes(seen, polled, width);
        for (size_t i = 1; i < width; i++)
            EXPECT(seen[i] == seen[0], "half of %zu bytes", width);
        changes += seen[0] != last;
        last = seen[0];
        if (changes == enough || sync_now_ns() - start > 500 * 1000 * 1000)
            atomic_store(&over, true);
    }
}

START_TEST(a_polled_element_is_never_torn)
{
    for (width = 1; width <= 8; width *= 2)
        for (int way = 0; way < 2; way++) {
            blocks = way;
            atomic_store(&over, false);
            memset(polled, 0, sizeof polled);
            as_ranks(2, write_or_poll);
        }
}
END_TEST
#define POLLED , a_polled_element_is_never_torn
#else
#define POLLED
#endif

START_TEST(caches_hold_small_data_only)
{
    ck_assert(copy_caches_hold(256 << 10));
    ck_assert(!copy_caches_hold((64 << 20) + 1));
    copy_cached = 1000;
    ck_assert(copy_caches_hold(1000) && !copy_caches_hold(1001));
}
END_TEST

UNIT_MAIN(every_small_size_at_every_alignment, long_sizes, sizes_of_several_pieces,
          pieces_are_short_at_a_small_distance, long_copies_at_a_small_distance_are_made_backwards,
          copies_within_themselves, blocks_at_any_stride, caches_hold_small_data_only POLLED)
