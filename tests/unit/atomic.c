/* The accumulate family is atomic per element in both modes of a target and during the change of
 * mode. */
#include "rma_shm/atomic.c"

#include "tests/unit/windows.h"

static unsigned rounds;

static struct reducer combine_with(enum op op, enum prim prim, uint32_t bytes)
{
    return atomic_reducer(op, prim, bytes, kernels_best()->combine[op][prim]);
}
#define SUM combine_with(OP_SUM, PRIM_I64, 8)

static const struct buffer nowhere;

static enum win_error accumulate(unsigned me, const struct reducer *c, const void *origin,
                                 size_t count, int64_t disp)
{
    return win_accumulate(view[me], c, I64, buffer(origin, I64, count), nowhere, 0, disp,
                          buffer(NULL, I64, count));
}

static enum win_error fetch(unsigned me, const struct reducer *c, const void *origin, void *result,
                            size_t count, int64_t disp)
{
    return win_accumulate(view[me], c, I64, buffer(origin, I64, count), buffer(result, I64, count),
                          0, disp, buffer(NULL, I64, count));
}

static int64_t *words(unsigned rank)
{
    return (int64_t *)part[rank].base;
}

static bool bulk(unsigned target)
{
    return view[0]->peer[target].target->bulk_mode;
}

static void go_to_bulk(unsigned target)
{
    bulk_leave(view[0], bulk_enter(view[0], &view[0]->peer[target]));
}

static void begin(unsigned size, size_t bytes)
{
    create_window(size, bytes, 8);
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(win_lock_all(view[r], true), WIN_OK);
}

static void end(unsigned size)
{
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(win_unlock_all(view[r]), WIN_OK);
    free_window(size);
}

/* ---- many ranks on one location ---- */

enum { WORDS = 64 };
static _Atomic int64_t added[WORDS];

static void add_one(unsigned me, unsigned at)
{
    const struct reducer sum = SUM;
    int64_t one = 1, old;
    win_combine(view[me], thread_self(), &sum, 0, (char *)&words(0)[at], (char *)&one, (char *)&old,
                8);
    added[at]++;
}

static void add_some(unsigned me, unsigned at, unsigned count, bool fetches)
{
    const struct reducer sum = SUM;
    int64_t ones[WORDS], old[WORDS];
    for (unsigned i = 0; i < count; i++)
        ones[i] = 1;
    EXPECT((fetches ? fetch(me, &sum, ones, old, count, at)
                    : accumulate(me, &sum, ones, count, at)) == WIN_OK);
    for (unsigned i = 0; i < count; i++)
        added[at + i]++;
}

static void swap_in_one_more(unsigned me, unsigned at)
{
    int64_t seen = 0, compare, more;
    do {
        compare = seen;
        more = compare + 1;
        win_compare_and_swap(view[me], thread_self(), 0, (char *)&words(0)[at], &more, &compare,
                             &seen, 8);
    } while (seen != compare);
    added[at]++;
}

/* Every operation on the same few words. */
static void count_in_every_way(unsigned me, struct chance *c, unsigned most)
{
    unsigned count = 1 + below(c, most), at = below(c, WORDS - count + 1);
    switch (below(c, 4)) {
    case 0:
        add_one(me, at % 4);
        break;
    case 1:
        swap_in_one_more(me, at % 4);
        break;
    default:
        add_some(me, at, count, below(c, 2));
    }
}

static void expect_counts(void)
{
    for (unsigned i = 0; i < WORDS; i++) {
        INSIST(words(0)[i] == added[i], "word %u is %jd, not %jd", i, (intmax_t)words(0)[i],
               (intmax_t)added[i]);
        added[i] = 0;
    }
}

static unsigned most;

static void count_a_lot(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 0; i < rounds; i++)
        count_in_every_way(me, &c, most);
}

START_TEST(small_operations_take_no_lock)
{
    rounds = effort(20000);
    most = ATOMIC_FEW;
    for (unsigned size = 2; size <= 4; size++) {
        begin(size, WORDS * 8);
        as_ranks(size, count_a_lot);
        expect_counts();
        ck_assert(!bulk(0));
        end(size);
    }
}
END_TEST

START_TEST(small_and_large_operations_on_one_location)
{
    rounds = effort(5000);
    most = WORDS;
    for (unsigned size = 2; size <= 4; size++) {
        begin(size, WORDS * 8);
        as_ranks(size, count_a_lot);
        expect_counts();
        ck_assert(bulk(0));
        ck_assert(!bulk(1)); /* each target has its own mode */
        end(size);
    }
}
END_TEST

/* One rank changes to bulk mode while the others execute native operations. */
static void count_until_the_mode_changes(unsigned me)
{
    struct chance c = {any(&(struct chance){rounds * 64 + me})};
    unsigned changer = rounds % unit_ranks.size, late = below(&c, 30);
    for (unsigned i = 0; i < 40; i++) {
        count_in_every_way(me, &c, 2);
        if (me == changer && i == late)
            add_some(me, 0, WORDS, false);
    }
}

START_TEST(no_update_is_lost_when_the_mode_changes)
{
    unsigned last = effort(400);
    for (rounds = 1; rounds <= last; rounds++) {
        unsigned size = 2 + rounds % 3;
        begin(size, WORDS * 8);
        as_ranks(size, count_until_the_mode_changes);
        expect_counts();
        ck_assert(bulk(0));
        end(size);
    }
}
END_TEST

/* ---- elements of one byte: several share a word ---- */

enum { ROOM = WORDS * 8 };
static _Atomic uint8_t bytes_added[ROOM];

static void add_bytes(unsigned me)
{
    const struct reducer sum = combine_with(OP_SUM, PRIM_U8, 1);
    struct chance c = {me};
    uint8_t ones[ROOM], old[ROOM];
    memset(ones, 1, sizeof ones);
    for (unsigned i = 0; i < rounds; i++) {
        unsigned count = 1 + below(&c, most), at = below(&c, ROOM - count + 1);
        win_combine(view[me], thread_self(), &sum, 0, part[0].base + at, (char *)ones,
                    i % 2 ? (char *)old : NULL, count);
        for (unsigned b = 0; b < count; b++)
            bytes_added[at + b]++;
    }
}

START_TEST(bytes_of_one_word_are_independent)
{
    rounds = effort(20000);
    for (most = ATOMIC_FEW; most <= 24; most += 20) {
        begin(3, ROOM);
        as_ranks(3, add_bytes);
        ck_assert_int_eq(bulk(0), most > ATOMIC_FEW);
        for (unsigned b = 0; b < ROOM; b++) {
            INSIST((uint8_t)part[0].base[b] == bytes_added[b], "byte %u", b);
            bytes_added[b] = 0;
        }
        end(3);
    }
}
END_TEST

/* ---- under locks ---- */

static bool shares;

/* If the case uses shared locks, every other epoch is one. */
static void count_under_locks(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 0; i < rounds; i++) {
        enum win_lock kind = shares && i % 2 ? WIN_SHARED : WIN_EXCLUSIVE;
        EXPECT(win_lock(view[me], kind, 0) == WIN_OK);
        for (unsigned n = below(&c, 4); n; n--)
            count_in_every_way(me, &c, most);
        EXPECT(win_unlock(view[me], 0) == WIN_OK);
    }
}

START_TEST(an_exclusive_lock_needs_no_mode)
{
    rounds = effort(4000);
    most = WORDS;
    for (int kinds = 0; kinds < 2; kinds++) {
        create_window(3, WORDS * 8, 8);
        thread_concurrent = false; /* each rank stands for a single-threaded process */
        shares = kinds;
        as_ranks(3, count_under_locks);
        thread_concurrent = true;
        expect_counts();
        ck_assert_int_eq(bulk(0), shares);
        free_window(3);
    }
}
END_TEST

static void count_in_one_epoch(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 0; i < rounds; i++)
        count_in_every_way(0, &c, most);
}

START_TEST(concurrent_threads_under_an_exclusive_lock)
{
    rounds = effort(4000);
    most = WORDS;
    create_window(2, WORDS * 8, 8);
    ck_assert_int_eq(win_lock(view[0], WIN_EXCLUSIVE, 0), WIN_OK);
    as_ranks(2, count_in_one_epoch);
    ck_assert_int_eq(win_unlock(view[0], 0), WIN_OK);
    expect_counts();
    free_window(2);
}
END_TEST

/* ---- the change of mode, step by step ---- */

/* An operation starts while another rank changes the mode. The operation lasts long enough for a
 * changer that misses it to finish first. */
static void enter_or_change(unsigned me)
{
    static bool entered, waited;
    static _Atomic uint32_t left;
    struct meeting meeting = {.chance = {me}};
    struct win_target *target = view[0]->peer[0].target;
    struct thread *thread = thread_self();
    atomic_store(&left, 0);
    for (uint32_t round = 1; round <= rounds; round++) {
        leave_together(&meeting);
        if (me == 0) {
            entered = native_enter(thread, target);
            if (entered) {
                spin_ns(500);
                atomic_store(&left, round);
                native_leave(view[0], thread);
            }
        } else {
            change_to_bulk(view[1], target);
            waited = atomic_load(&left) == round;
        }
        leave_together(&meeting);
        EXPECT(!entered || waited, "round %u: the changer did not wait for the operation", round);
        atomic_store(&target->bulk_mode, 0);
    }
}

START_TEST(operation_or_changer_sees_the_other)
{
    begin(2, WORDS * 8);
    rounds = effort(8000);
    as_ranks(2, enter_or_change);
    end(2);
}
END_TEST

static _Atomic bool changed;

static void hold_up_or_change(unsigned me)
{
    const struct reducer sum = SUM;
    int64_t ones[WORDS] = {1};
    struct win_target *target = view[0]->peer[0].target;
    if (me == 0) {
        struct thread *thread = thread_self();
        EXPECT(native_enter(thread, target));
        all_here();
        while (!atomic_load(&target->bulk_mode))
            sleep_us(100);
        sleep_us(3000);
        EXPECT(!changed && words(0)[0] == 0, "the changer did not wait for an operation in flight");
        native_leave(view[0], thread);
        EXPECT(!native_enter(thread, target), "this operation must use the mutex");
        EXPECT(thread->inflight->count % 2 == 0);
    } else {
        all_here();
        EXPECT(accumulate(me, &sum, ones, WORDS, 0) == WIN_OK);
        changed = true;
    }
}

START_TEST(the_changer_waits_for_operations_in_flight)
{
    begin(2, WORDS * 8);
    changed = false;
    as_ranks(2, hold_up_or_change);
    ck_assert_int_eq(words(0)[0], 1);
    end(2);
}
END_TEST

START_TEST(threads_without_a_slot_use_bulk_mode)
{
    enum { MANY = INFLIGHT_SLOTS + 6 };
    rounds = effort(800);
    most = 2;
    begin(MANY, WORDS * 8);
    as_ranks(MANY, count_a_lot);
    expect_counts();
    end(MANY);
}
END_TEST

/* Writing the count would take about as long as taking the mutex. */
START_TEST(small_operations_in_bulk_mode_do_not_count_the_thread)
{
    int64_t one = 1, none = 0, old;
    begin(2, WORDS * 8);
    add_one(0, 0);
    uint32_t before = atomic_load(&thread_self()->inflight->count);
    go_to_bulk(0);
    add_one(0, 0);
    win_compare_and_swap(view[0], thread_self(), 0, (char *)&words(0)[1], &one, &none, &old, 8);
    ck_assert_uint_eq(atomic_load(&thread_self()->inflight->count), before);
    ck_assert(words(0)[0] == 2 && words(0)[1] == 1);
    added[0] = 0;
    end(2);
}
END_TEST

/* ---- operations that require bulk mode ---- */

START_TEST(long_and_unaligned_elements_need_the_mutex)
{
    const struct reducer replace = {.op = OP_REPLACE, .element = 16}, sum = SUM;
    int64_t one = 1, wide[2] = {3, 4}, old[2];
    begin(3, 64);
    win_combine(view[0], thread_self(), &replace, 0, (char *)words(0), (char *)wide, (char *)old,
                16);
    ck_assert(bulk(0));
    ck_assert(old[0] == 0 && old[1] == 0 && words(0)[0] == 3 && words(0)[1] == 4);
    int64_t compare[2] = {3, 5}, more[2] = {6, 7};
    win_compare_and_swap(view[0], thread_self(), 0, (char *)words(0), more, compare, old, 16);
    ck_assert(old[1] == 4 && words(0)[0] == 3);
    win_compare_and_swap(view[0], thread_self(), 0, (char *)words(0), more, old, compare, 16);
    ck_assert(compare[1] == 4 && words(0)[0] == 6 && words(0)[1] == 7);
    win_combine(view[0], thread_self(), &sum, 1, (char *)words(1) + 4, (char *)&one, NULL, 8);
    ck_assert(bulk(1));
    memcpy(old, (char *)words(1) + 4, 8);
    ck_assert_int_eq(old[0], 1);
    ck_assert(!bulk(2));
    end(3);
}
END_TEST

/* ---- results ---- */

START_TEST(compare_and_swap_of_every_size)
{
    unsigned char room[3][16], compare[16], origin[16], result[16];
    begin(2, 64);
    for (int mode = 0; mode < 2; mode++, go_to_bulk(0))
        for (size_t bytes = 1; bytes <= 16; bytes *= 2) {
            memset(room, 9, sizeof room);
            memcpy(part[0].base, room, 48);
            memset(compare, 9, 16);
            compare[bytes - 1] = 8;
            memset(origin, 5, 16);
            memset(result, 0, 16);
            win_compare_and_swap(view[0], thread_self(), 0, part[0].base + 16, origin, compare,
                                 result, bytes);
            ck_assert_mem_eq(part[0].base, room, 48);
            ck_assert_mem_eq(result, room, bytes);
            compare[bytes - 1] = 9;
            memset(result, 0, 16);
            win_compare_and_swap(view[0], thread_self(), 0, part[0].base + 16, origin, compare,
                                 result, bytes);
            ck_assert_mem_eq(result, room, bytes);
            ck_assert(bytes == 16 || result[bytes] == 0);
            memset(room[1], 5, bytes);
            ck_assert_mem_eq(part[0].base, room, 48);
        }
    end(2);
}
END_TEST

/* Each operation that returns a result, before and after the change of mode. */
START_TEST(both_modes_return_the_old_and_store_the_new_value)
{
    static const struct {
        enum op op;
        int64_t there;
    } tries[] = {{OP_SUM, 13}, {OP_PROD, 30},   {OP_MAX, 10},   {OP_MIN, 3},  {OP_BAND, 2},
                 {OP_BOR, 11}, {OP_REPLACE, 3}, {OP_NO_OP, 10}, {OP_BXOR, 9}, {OP_LAND, 1}};
    begin(2, 100 * 8);
    for (unsigned count = 1; count <= 100; count += 99)
        for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
            const struct reducer c = combine_with(tries[t].op, PRIM_I64, 8);
            int64_t origin[100], result[100];
            for (unsigned i = 0; i < count; i++) {
                words(0)[i] = 10;
                origin[i] = 3;
            }
            ck_assert_int_eq(fetch(1, &c, origin, result, count, 0), WIN_OK);
            for (unsigned i = 0; i < count; i++) {
                INSIST(words(0)[i] == tries[t].there, "op %d left %jd", tries[t].op,
                       (intmax_t)words(0)[i]);
                INSIST(result[i] == 10, "op %d gave %jd", tries[t].op, (intmax_t)result[i]);
            }
        }
    end(2);
}
END_TEST

static unsigned host_calls;

static void host_adds(const struct reducer *c, void *out, const void *a, const void *b, size_t n)
{
    int64_t *to = out;
    const int64_t *from = b;
    ck_assert_ptr_eq(out, a);
    host_calls++;
    ck_assert_uint_eq(c->host_op, 77);
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

START_TEST(the_host_reduces_under_the_mutex_without_a_kernel)
{
    const struct reducer c = {.op = OP_SUM, .element = 8, .apply = host_adds, .host_op = 77};
    int64_t seven = 7;
    begin(2, 64);
    host_calls = 0;
    ck_assert_int_eq(accumulate(0, &c, &seven, 1, 3), WIN_OK);
    ck_assert_uint_eq(host_calls, 1);
    ck_assert(bulk(0));
    ck_assert_int_eq(words(0)[3], 7);
    end(2);
}
END_TEST

/* Longer than the mutex is held at a time, with gaps in the datatypes of both sides. */
START_TEST(long_operations_on_noncontiguous_data)
{
    enum { BLOCKS = 3 * HOLD_BYTES / 8 };
    const struct reducer sum = SUM;
    struct typemap *gaps = typemap_derived();
    ck_assert(typemap_append(gaps, I64, 0, 1) && typemap_end(gaps, 16));
    int64_t *origin = malloc(BLOCKS * 16), *result = malloc(BLOCKS * 24);
    struct typemap *wider = typemap_derived();
    ck_assert(typemap_append(wider, I64, 8, 1) && typemap_end(wider, 24));
    begin(2, BLOCKS * 16);
    for (int64_t i = 0; i < BLOCKS; i++) {
        words(0)[2 * i] = i;
        words(0)[2 * i + 1] = -1;
        origin[2 * i] = 1000000 * i;
        result[3 * i] = result[3 * i + 2] = -2;
    }
    ck_assert_int_eq(win_accumulate(view[1], &sum, I64, buffer(origin, gaps, BLOCKS),
                                    buffer(result, wider, BLOCKS), 0, 0,
                                    buffer(NULL, gaps, BLOCKS)),
                     WIN_OK);
    for (int64_t i = 0; i < BLOCKS; i++) {
        INSIST(words(0)[2 * i] == 1000001 * i && words(0)[2 * i + 1] == -1, "block %jd",
               (intmax_t)i);
        INSIST(result[3 * i + 1] == i && result[3 * i] == -2 && result[3 * i + 2] == -2,
               "result %jd", (intmax_t)i);
    }
    end(2);
    free(origin);
    free(result);
    typemap_free(gaps);
    typemap_free(wider);
}
END_TEST

/* The index of a pair and the value of the next one are one block, so every block ends inside an
 * element. */
START_TEST(long_operations_on_pairs_give_way)
{
    enum { PAIRS = 3 * HOLD_BYTES / 6 };
    const struct reducer replace = {.op = OP_REPLACE, .element = 8};
    struct typemap *pair = typemap_predefined(1, PRIM_SHORT_INT, 6, 8), *many = typemap_derived();
    ck_assert(typemap_append(many, pair, 0, PAIRS) && typemap_end(many, PAIRS * 8));
    char *origin = malloc(PAIRS * 6);
    memset(origin, 7, PAIRS * 6);
    begin(2, PAIRS * 8);
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, PAIRS * 6);
    struct bulk bulk = {.reducer = &replace,
                        .entered = bulk_enter(view[0], &view[0]->peer[0]),
                        .other = origin,
                        .origin = origin,
                        .element = 6};
    typemap_walk((char *)words(0), typemap_to_move(many), origin, &plain, PAIRS * 6, bulk_piece,
                 &bulk);
    ck_assert_uint_lt(bulk.held, HOLD_BYTES + 6);
    bulk_leave(view[0], bulk.entered);
    for (size_t i = 0; i < PAIRS; i++)
        INSIST(words(0)[i] == 0x0707070700000707, "pair %zu", i);
    end(2);
    free(origin);
    typemap_free(many);
    typemap_free(pair);
}
END_TEST

static unsigned kernel_calls;

static void counted_sum(void *out, const void *a, const void *b, size_t n, const char *ahead)
{
    kernel_calls++;
    kernels_best()->combine[OP_SUM][PRIM_I64](out, a, b, n, ahead);
}

/* Blocks of one word, and a last one at `last`; the earlier ones 2 or 3 words apart. */
static struct typemap *scattered(int64_t *at, size_t blocks, int64_t last)
{
    const int64_t one = 1;
    struct typemap *map = typemap_derived();
    for (size_t i = 0; i < blocks; i++)
        at[i] = 2 * (int64_t)i + (i % 3 == 1);
    at[blocks - 1] = last < 0 ? at[blocks - 1] : last;
    ck_assert(typemap_append_blocks(
        map, I64,
        &(struct placement){.count = blocks, .lengths = &one, .displacements = at, .unit = 8}));
    ck_assert(typemap_end(map, 16 * (ptrdiff_t)(blocks + 1)));
    return map;
}

START_TEST(short_blocks_are_combined_together)
{
    enum { BLOCKS = 3 * HOLD_BYTES / 8 };
    struct reducer sum = SUM;
    int64_t *at = malloc(BLOCKS * 8), *origin = malloc(BLOCKS * 8), *result = malloc(BLOCKS * 8);
    struct typemap *map = scattered(at, BLOCKS, -1);
    sum.kernel = counted_sum;
    begin(2, (BLOCKS + 1) * 16);
    for (int64_t i = 0; i < BLOCKS; i++) {
        words(0)[at[i]] = i;
        origin[i] = 1000000 * i;
    }
    for (int fetches = 0; fetches < 2; fetches++)
        ck_assert_int_eq(win_accumulate(view[1], &sum, I64, buffer(origin, I64, BLOCKS),
                                        fetches ? buffer(result, I64, BLOCKS) : nowhere, 0, 0,
                                        buffer(NULL, map, 1)),
                         WIN_OK);
    ck_assert_uint_le(kernel_calls, 2 * BLOCKS * 8 / 512);
    int64_t between = 0;
    for (int64_t i = 0; i < BLOCKS; i++) {
        INSIST(words(0)[at[i]] == 2000001 * i && result[i] == 1000001 * i, "block %jd",
               (intmax_t)i);
        words(0)[at[i]] = 0;
    }
    for (int64_t i = 0; i < 2 * (BLOCKS + 1); i++)
        between |= words(0)[i];
    ck_assert_int_eq(between, 0);
    end(2);
    free(at);
    free(origin);
    free(result);
    typemap_free(map);
}
END_TEST

/* MPI does not allow it, but the hosts add both operands. */
START_TEST(a_location_that_occurs_twice_gets_both_operands)
{
    enum { BLOCKS = 40 };
    const struct reducer sum = SUM;
    int64_t at[BLOCKS], ones[2 * BLOCKS];
    struct typemap *map = scattered(at, BLOCKS, 4), *tight = scattered(at, BLOCKS, -1);
    tight->extent = 0;
    begin(2, (BLOCKS + 1) * 16);
    for (int i = 0; i < 2 * BLOCKS; i++)
        ones[i] = 1;
    ck_assert_int_eq(win_accumulate(view[1], &sum, I64, buffer(ones, I64, BLOCKS), nowhere, 0, 0,
                                    buffer(NULL, map, 1)),
                     WIN_OK);
    ck_assert(words(0)[4] == 2 && words(0)[3] == 1);
    ck_assert_int_eq(win_accumulate(view[1], &sum, I64, buffer(ones, I64, 2 * BLOCKS), nowhere, 0,
                                    0, buffer(NULL, tight, 2)),
                     WIN_OK);
    ck_assert(words(0)[4] == 4 && words(0)[3] == 3);
    end(2);
    typemap_free(map);
    typemap_free(tight);
}
END_TEST

/* Each rank adds a different array, longer than the mutex is held at a time, and single elements.
 */
enum { LONG = 5 * HOLD_BYTES / 16 };

static void add_long_arrays(unsigned me)
{
    const struct reducer sum = SUM;
    int64_t *array = malloc(LONG * 8);
    for (unsigned i = 0; i < LONG; i++)
        array[i] = i * (me + 1);
    for (unsigned i = 0; i < rounds; i++) {
        EXPECT(accumulate(me, &sum, array, LONG, 0) == WIN_OK);
        win_combine(view[me], thread_self(), &sum, 0, (char *)&words(0)[LONG - 1],
                    (char *)&array[1], NULL, 8);
    }
    free(array);
}

START_TEST(concurrent_long_operations)
{
    rounds = effort(40);
    begin(3, LONG * 8);
    as_ranks(3, add_long_arrays);
    for (unsigned i = 0; i < LONG; i++) {
        int64_t want = ((int64_t)i + (i == LONG - 1)) * 6 * rounds;
        INSIST(words(0)[i] == want, "%u: %jd, not %jd", i, (intmax_t)words(0)[i], (intmax_t)want);
    }
    ck_assert_uint_eq(view[0]->peer[0].target->bulk_mutex.value, 0);
    end(3);
}
END_TEST

START_TEST(refused_operations_change_nothing)
{
    const struct reducer sum = SUM, replace = combine_with(OP_REPLACE, PRIM_I64, 8);
    int64_t data[4] = {1, 1, 1, 1}, result[4] = {5, 5, 5, 5};
    struct buffer two = buffer(data, I64, 2), three = buffer(data, I64, 3);
    begin(2, 4 * 8);
    ck_assert_int_eq(fetch(0, &sum, data, result, 2, 3), WIN_ERR_RANGE);
    ck_assert_int_eq(fetch(0, &sum, data, result, 1, -1), WIN_ERR_DISP);
    ck_assert_int_eq(win_accumulate(view[0], &sum, I64, two, nowhere, 2, 0, two), WIN_ERR_RANK);
    ck_assert_int_eq(win_accumulate(view[0], &sum, I64, three, nowhere, 0, 0, two), WIN_ERR_LENGTH);
    ck_assert_int_eq(win_accumulate(view[0], &sum, I64, two, buffer(result, I64, 1), 0, 0, two),
                     WIN_ERR_LENGTH);
    ck_assert_int_eq(win_accumulate(view[0], &sum, I64, buffer(data, I32, 2), nowhere, 0, 0, two),
                     WIN_ERR_TYPE);
    ck_assert_int_eq(win_accumulate(view[0], &sum, I64, two, nowhere, 0, 0, buffer(NULL, I32, 2)),
                     WIN_ERR_TYPE);
    for (int i = 0; i < 4; i++)
        ck_assert(words(0)[i] == 0 && result[i] == 5);
    /* MPI_REPLACE only moves data, so the element types may differ */
    ck_assert_int_eq(
        win_accumulate(view[0], &replace, I64, two, nowhere, 0, 0, buffer(NULL, I32, 4)), WIN_OK);
    ck_assert(words(0)[0] == 1 && words(0)[1] == 1 && words(0)[2] == 0);
    end(2);
}
END_TEST

UNIT_MAIN(small_operations_take_no_lock, small_and_large_operations_on_one_location,
          no_update_is_lost_when_the_mode_changes, bytes_of_one_word_are_independent,
          an_exclusive_lock_needs_no_mode, concurrent_threads_under_an_exclusive_lock,
          operation_or_changer_sees_the_other, the_changer_waits_for_operations_in_flight,
          threads_without_a_slot_use_bulk_mode,
          small_operations_in_bulk_mode_do_not_count_the_thread,
          long_and_unaligned_elements_need_the_mutex, compare_and_swap_of_every_size,
          both_modes_return_the_old_and_store_the_new_value,
          the_host_reduces_under_the_mutex_without_a_kernel, long_operations_on_noncontiguous_data,
          long_operations_on_pairs_give_way, short_blocks_are_combined_together,
          a_location_that_occurs_twice_gets_both_operands, concurrent_long_operations,
          refused_operations_change_nothing)
