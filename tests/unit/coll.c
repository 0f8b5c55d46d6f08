/* The collectives of intracommunicators: random rounds of each, and cases that such rounds miss. */
#include "tests/unit/plays.h"

#include "coll_inplace/transport.h"

enum { MUCH = 1600000, LITTLE = MUCH / 10 };

/* Some ranks begin with a long stream. */
static void play_in_team(play_fn *what, unsigned size, unsigned how_often, size_t bytes,
                         uint32_t first)
{
    make_team(size);
    for (unsigned r = 0; r < size; r += 3)
        mailbox_lengthen_stream(team_of[r]->mine);
    set_numbers(size, first);
    play(what, how_often, bytes);
}

/* More ranks than processors from the second size on; no sleep ends by itself. */
static void play_in_all_sizes(play_fn *what)
{
    static const unsigned n[] = {2, 3, 5, 8, 9, 17, 26, 64};
    static const unsigned often[] = {150, 100, 60, 40, 40, 16, 10, 4};
    endless = true;
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++) {
        sync_configure(i > 0, NULL);
        play_in_team(what, n[i], effort(often[i]), MUCH, 0);
    }
    endless = false;
}

TEST_OF(bcast_delivers_the_data_of_the_root, play_bcast)
TEST_OF(gather_delivers_all_blocks_to_the_root, play_gather)
TEST_OF(scatter_delivers_one_block_to_each_rank, play_scatter)
TEST_OF(allgather_delivers_all_blocks_to_all_ranks, play_allgather)
TEST_OF(alltoall_delivers_a_block_between_any_two_ranks, play_alltoall)
TEST_OF(reduce_combines_in_rank_order, play_reduce)
TEST_OF(allreduce_combines_in_rank_order, play_allreduce)
TEST_OF(scan_combines_the_ranks_before, play_scan)
TEST_OF(reduce_scatter_combines_shares, play_reduce_scatter)
TEST_OF(any_collective_follows_any_other, NULL)

/* The owner of the memory copies. */
START_TEST(data_that_the_os_does_not_copy_arrive_all_the_same)
{
    atomic_store(&copies_refused, 0);
    for (refuses_percent = 10; refuses_percent <= 100; refuses_percent += 90)
        for (unsigned size = 2; size <= 4; size++)
            for (unsigned which = 0; which < every_count(); which++) {
                sync_configure(size > 2, NULL);
                play_in_team(every[which], size, effort(40), MUCH, 0);
            }
    refuses_percent = 0;
    ck_assert_uint_gt(atomic_load(&copies_refused), 0);
}
END_TEST

START_TEST(thousands_in_a_row)
{
    for (unsigned size = 2; size <= 4; size++) {
        sync_configure(size > 2, NULL);
        play_in_team(NULL, size, effort(2000), LITTLE, 0);
    }
}
END_TEST

START_TEST(numbers_may_wrap)
{
    sync_configure(true, NULL);
    for (unsigned size = 2; size <= 10; size += 4)
        for (unsigned which = 0; which < sizeof every / sizeof *every; which++)
            play_in_team(every[which], size, 40, LITTLE, UINT32_MAX - 20);
}
END_TEST

static void make_3(void)
{
    make_team(3);
}

static void make_10(void)
{
    make_team(10);
}

START_TEST(the_next_operation_waits_for_a_free_slot)
{
    sync_configure(true, NULL);
    play_after_late_reads(make_3, MUCH);
    play_after_late_reads(make_10, MUCH);
}
END_TEST

/* ---- non-temporal stores ---- */

/* Operands and results are in private memory, else in the heap. */
static bool much_is_private;

static void give_back(char *at)
{
    if (much_is_private)
        free(at);
    else
        arena_free(at);
}

/* Whether cells are used decides whether the mailbox is kept, and whether their pages are returned.
 * The sum of three operands passes through a cell, although all data are inline. */
static void reduce_few(unsigned me)
{
    struct team *t = team_of[me];
    struct reducer add = {.kernel = add_bytes, .element = 1, .map = BYTES};
    char from = (char)me, to = 77;
    EXPECT(coll_allreduce(t, &add, buffer(&from, BYTES, 1), buffer(&to, BYTES, 1)) == COLL_OK);
    EXPECT(to == (char)(t->size * (t->size - 1) / 2));
    EXPECT(t->cells_used == (t->size > 2), "rank %u of %u", me, t->size);
}

START_TEST(used_cells_are_noted)
{
    for (unsigned size = 2; size <= 4; size++) {
        make_team(size);
        as_ranks(size, reduce_few);
        free_team(size);
    }
}
END_TEST

static void reduce_much(unsigned me)
{
    struct team *t = team_of[me];
    size_t bytes = NONTEMPORAL_RESULT_MIN + 5003;
    struct reducer add = {.kernel = add_bytes, .element = 1, .map = BYTES};
    char *from = much_is_private ? malloc(bytes) : arena_alloc(bytes, LINE);
    char *to = much_is_private ? malloc(bytes + 1) : arena_alloc(bytes + 1, LINE);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (char)(datum_byte(i) + me);
    for (unsigned root = 0; root <= t->size; root++) { /* the last one: allreduce */
        struct buffer out = buffer(to, BYTES, bytes);
        memset(to, 77, bytes + 1);
        if (root == t->size)
            EXPECT(coll_allreduce(t, &add, buffer(from, BYTES, bytes), out) == COLL_OK);
        else
            EXPECT(coll_reduce(t, &add, buffer(from, BYTES, bytes), out, root) == COLL_OK);
        size_t wrong = 0;
        unsigned n = t->size;
        for (size_t i = 0; i < bytes && (root == me || root == n); i++)
            wrong += to[i] != (char)(n * datum_byte(i) + n * (n - 1) / 2);
        EXPECT(!wrong && to[bytes] == 77, "root %u of %u: %zu bytes are wrong", root, n, wrong);
    }
    coll_barrier(t);
    give_back(from);
    give_back(to);
}

static size_t wrong_bytes(const char *got, size_t bytes, unsigned start)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += got[i] != (char)(start + datum_byte(i));
    return wrong;
}

/* Block r of rank `from` begins with 16 * from + r. */
static void copy_much(unsigned me)
{
    enum { ROOT = 1, BLOCK = NONTEMPORAL_COPY_MIN + 1003 };
    struct team *t = team_of[me];
    size_t all = (size_t)t->size * BLOCK;
    char *from = malloc(all), *to = malloc(all + 1);
    struct blocks out = {.at = from, .map = BYTES, .count = BLOCK};
    struct blocks in = {.at = to, .map = BYTES, .count = BLOCK};
    struct buffer mine = block_of(&out, me), first = block_of(&in, 0);
    for (unsigned r = 0; r < t->size; r++)
        for (size_t i = 0; i < BLOCK; i++)
            block_of(&out, r).at[i] = (char)(16 * me + r + datum_byte(i));
    for (unsigned call = 0; call < 4; call++) {
        memset(to, 77, all + 1);
        if (call == 0)
            EXPECT(coll_allgather(t, mine, &in, false) == COLL_OK);
        else if (call == 1)
            EXPECT(coll_alltoall(t, &out, &in, false) == COLL_OK);
        else if (call == 2)
            EXPECT(coll_gather(t, mine, me == ROOT ? &in : NULL, ROOT, false) == COLL_OK);
        else
            EXPECT(coll_scatter(t, me == ROOT ? &out : NULL, first, ROOT, false, true) == COLL_OK);
        for (unsigned r = 0; r < t->size; r++) {
            unsigned start = call == 1 ? 16 * r + me : call == 3 ? 16 * ROOT + me : 17 * r;
            if ((call == 2 && me != ROOT) || (call == 3 && r))
                continue;
            size_t wrong = wrong_bytes(block_of(&in, r).at, BLOCK, start);
            EXPECT(!wrong, "call %u, %u of %u: %zu bytes are wrong", call, r, t->size, wrong);
        }
        EXPECT(to[all] == 77 && (call != 3 || to[BLOCK] == 77), "call %u", call);
    }
    coll_barrier(t);
    free(from);
    free(to);
}

START_TEST(results_larger_than_the_caches_are_written_with_non_temporal_stores)
{
    copy_cached = 1;
    for (unsigned size = 2; size <= 3; size++) {
        sync_configure(true, NULL);
        make_team(size);
        as_ranks(size, reduce_much);
        for (unsigned r = 0; r < size; r++)
            team_of[r]->policy = 0;
        much_is_private = true;
        as_ranks(size, reduce_much);
        much_is_private = false;
        as_ranks(size, copy_much);
        free_team(size);
    }
    copy_cached = 0;
}
END_TEST

/* ---- more data than room ---- */

static void receive_too_little(unsigned me)
{
    static const size_t much[] = {8, 100, 5000, 20000, 100000};
    struct team *t = team_of[me];
    for (unsigned i = 0; i < 5; i++) {
        char *sent = malloc(much[i]), *got = malloc(much[i]);
        memset(sent, 7, much[i]);
        memset(got, 1, much[i]);
        struct buffer b = buffer(me ? got : sent, BYTES, me == 1 ? much[i] - 1 : much[i]);
        EXPECT(coll_bcast(t, b, 0) == (me == 1 ? COLL_TRUNCATE : COLL_OK));
        EXPECT(me != 1 || got[much[i] - 1] == 1);
        EXPECT(me == 0 || (got[0] == 7 && got[much[i] - 2] == 7));
        EXPECT(coll_gather(t, buffer(sent, BYTES, me == 1 ? much[i] : 1),
                           &(struct blocks){.at = got, .map = BYTES, .count = 1}, 2,
                           false) == (me == 2 ? COLL_TRUNCATE : COLL_OK));
        EXPECT(me != 2 || got[3] == 7);
        free(sent);
        free(got);
    }
}

START_TEST(data_longer_than_the_buffer_are_truncated_and_reported)
{
    sync_configure(true, NULL);
    make_team(3);
    as_ranks(3, receive_too_little);
    free_team(3);
}
END_TEST

/* ---- the exchange of offers ---- */

/* At first no rank waits, for more operations than all rings have slots. Then some ranks do not. */
static void exchange_or_contribute(unsigned me)
{
    struct team *t = team_of[me];
    struct chance c = {me};
    uint64_t alone = (TEAM_RINGS + 1) * TEAM_SLOTS;
    for (uint64_t i = 0; i < alone + effort(1000); i++) {
        uint64_t mine[SLOT_ROOM / 8] = {[0] = me, [SLOT_ROOM / 8 - 1] = i};
        uint64_t all[8][SLOT_ROOM / 8] = {{0}};
        if (i >= alone)
            dawdle(&c);
        if (i < alone || !below(&c, 3)) {
            coll_contribute(t, mine, sizeof mine);
            continue;
        }
        coll_exchange(t, mine, all, sizeof mine);
        for (uint64_t r = 0; r < t->size; r++)
            EXPECT(all[r][0] == r && all[r][SLOT_ROOM / 8 - 1] == i, "%u of %u, number %u", me,
                   (unsigned)r, (unsigned)i);
    }
}

START_TEST(ranks_that_only_contribute_do_not_wait)
{
    for (unsigned size = 2; size <= 8; size += 3) {
        sync_configure(size > 2, NULL);
        make_team(size);
        as_ranks(size, exchange_or_contribute);
        coll_contribute(team_of[0], &size, sizeof size); /* while no other rank runs */
        free_team(size);
    }
}
END_TEST

/* ---- nothing to move ---- */

/* Operations without data do not tell a rank that a slow one has read earlier slots. */
static void run_ahead_over_nothing(unsigned me)
{
    static const int none[2] = {0};
    struct team *t = team_of[me];
    struct blocks empty = {.at = (char *)&none, .map = BYTES, .counts = none, .displs = none};
    struct buffer nothing = buffer(&none, BYTES, 0);
    if (me)
        sleep_us(20000);
    for (uint64_t i = 0; i < 3 * TEAM_SLOTS; i++) {
        uint64_t value = me ? 0 : i;
        EXPECT(coll_bcast(t, buffer(&value, I64, 1), 0) == COLL_OK && value == i, "%u, bcast %u",
               me, (unsigned)i);
        EXPECT(coll_alltoall(t, &empty, &empty, false) == COLL_OK);
        EXPECT(coll_allgather(t, nothing, &empty, false) == COLL_OK);
        EXPECT(coll_gather(t, nothing, &empty, i % 2, false) == COLL_OK);
        EXPECT(coll_scatter(t, &empty, nothing, i % 2, false, i % 2) == COLL_OK);
        EXPECT(coll_bcast(t, nothing, 1) == COLL_OK);
    }
}

START_TEST(operations_without_data_do_not_synchronise)
{
    sync_configure(true, NULL);
    make_team(2);
    as_ranks(2, run_ahead_over_nothing);
    free_team(2);
}
END_TEST

/* ---- no memory to combine in ---- */

static unsigned starving;

static struct affine affine_of(unsigned rank, size_t i)
{
    return (struct affine){2 * rank + 1, rank + (unsigned)i};
}

static void expect_combined(enum coll_error error, bool lost, const struct affine *got, size_t n,
                            unsigned count, const char *what)
{
    EXPECT(error == (lost ? COLL_NO_MEMORY : COLL_OK), "%s: %d", what, error);
    for (size_t i = 0; i < n; i++) {
        struct affine sum = lost ? (struct affine){77, 77} : affine_of(0, i);
        for (unsigned r = 1; r < count && !lost; r++) {
            struct affine next = affine_of(r, i);
            compose(&sum, &sum, &next, 1, NULL);
        }
        EXPECT(got[i].a == sum.a && got[i].b == sum.b, "%s: element %zu of %zu", what, i, n);
    }
}

/* Long operands of user-defined operations: all ranks together combine each element n - 1 times,
 * and the function gets all elements, except in MPI_Allreduce if all ranks divide operands in the
 * same way. */
enum divisions { NO_RANK_DIVIDES, ONE_DOES_NOT, ONE_HAS_OTHER_ELEMENTS, ALL_DIVIDE, ONE_STARVES };
enum { LONG_ELEMENTS = TEAM_CELL / 8 + 5 };

static _Atomic size_t applied, fewest; /* elements, in all calls and in one call of the function */
static enum divisions divisions;

static void apply_counted(const struct reducer *r, void *out, const void *a, const void *b,
                          size_t n)
{
    n = n * r->element / sizeof(struct affine);
    applied += n;
    for (size_t least = fewest; n < least && !atomic_compare_exchange_weak(&fewest, &least, n);)
        ;
    compose(out, a, b, n, NULL);
}

static void combine_long(unsigned me)
{
    struct team *t = team_of[me];
    bool odd = me == t->size / 2, bytewise = odd && divisions == ONE_HAS_OTHER_ELEMENTS;
    struct reducer red = {.apply = apply_counted,
                          .element = bytewise ? 1 : 8,
                          .map = bytewise ? BYTES : I64,
                          .divides =
                              divisions != NO_RANK_DIVIDES && !(odd && divisions == ONE_DOES_NOT),
                          .starved = odd && divisions == ONE_STARVES};
    struct affine *mine = malloc(8 * LONG_ELEMENTS), *got = malloc(8 * LONG_ELEMENTS);
    size_t n = bytewise ? 8 * LONG_ELEMENTS : LONG_ELEMENTS;
    struct buffer from = buffer((char *)mine, red.map, n), to = buffer((char *)got, red.map, n);
    for (size_t i = 0; i < LONG_ELEMENTS; i++)
        mine[i] = affine_of(me, i);
    for (unsigned root = 0; root <= t->size; root++) {
        bool for_all = root == t->size;
        coll_barrier(t);
        if (me == 0) {
            applied = 0;
            fewest = LONG_ELEMENTS;
        }
        coll_barrier(t);
        enum coll_error error =
            for_all ? coll_allreduce(t, &red, from, to) : coll_reduce(t, &red, from, to, root);
        EXPECT(error == (divisions == ONE_STARVES ? COLL_LEFT : COLL_OK));
        if (divisions != ONE_STARVES && (for_all || me == root))
            expect_combined(error, false, got, LONG_ELEMENTS, t->size, "long");
        coll_barrier(t);
        if (me == 0 && divisions != ONE_STARVES) {
            size_t share =
                for_all && divisions == ALL_DIVIDE ? LONG_ELEMENTS / t->size : LONG_ELEMENTS;
            EXPECT(applied == (t->size - 1) * LONG_ELEMENTS, "%zu in all", (size_t)applied);
            EXPECT(fewest == share, "%zu in a call, not %zu", (size_t)fewest, share);
        }
    }
    coll_barrier(t);
    free(mine);
    free(got);
}

START_TEST(long_operands_are_combined_once_for_all_ranks)
{
    sync_configure(true, NULL);
    for (divisions = 0; divisions <= ONE_STARVES; divisions++)
        for (unsigned n = 2; n <= TREE_FLAT; n++) {
            make_team(n);
            as_ranks(n, combine_long);
            free_team(n);
        }
}
END_TEST

/* In a tree, a rank that cannot combine for others deprives all of the result. */
static void combine_starved(unsigned me)
{
    enum { ROOT = 1, MOST = TEAM_CELL / 8 };
    static const size_t elements[] = {1, 100, MOST};
    struct team *t = team_of[me];
    struct reducer red = {
        .apply = apply_compose, .element = 8, .map = I64, .starved = me == starving};
    bool tree = t->size > TREE_FLAT, inner = starving % TREE_RADIX == 0 && starving + 1 < t->size;
    struct affine *mine = malloc(TEAM_CELL), *got = malloc(TEAM_CELL);
    for (size_t i = 0; i < MOST; i++)
        mine[i] = affine_of(me, i);
    for (unsigned e = 0; e < 3; e++)
        for (unsigned call = 0; call < 4; call++) {
            size_t n = elements[e];
            struct buffer from = buffer((char *)mine, I64, n), to = buffer((char *)got, I64, n);
            struct blocks shares = {.map = I64, .count = n / t->size};
            for (size_t i = 0; i < n; i++)
                got[i] = (struct affine){77, 77};
            if (call == 0 && me == ROOT)
                expect_combined(coll_reduce(t, &red, from, to, ROOT),
                                tree ? inner : starving == ROOT, got, n, t->size, "reduce");
            else if (call == 0)
                EXPECT(coll_reduce(t, &red, from, to, ROOT) == COLL_OK);
            else if (call == 1)
                expect_combined(coll_allreduce(t, &red, from, to), tree ? inner : me == starving,
                                got, n, t->size, "allreduce");
            else if (call == 2)
                expect_combined(coll_scan(t, &red, from, to, false), me && me == starving, got, n,
                                me + 1, "scan");
            else if (n >= t->size && me == 0) {
                from.count = n = n / t->size * t->size;
                to.count = n / t->size;
                expect_combined(coll_reduce_scatter(t, &red, from, to, &shares), me == starving,
                                got, to.count, t->size, "reduce_scatter");
            } else if (n >= t->size) {
                from.count = n / t->size * t->size;
                to.count = n / t->size;
                EXPECT(coll_reduce_scatter(t, &red, from, to, &shares) ==
                       (me == starving ? COLL_NO_MEMORY : COLL_OK));
            }
        }
    coll_barrier(t);
    free(mine);
    free(got);
}

START_TEST(a_rank_without_memory_reports_it_and_keeps_no_rank_waiting)
{
    static const unsigned n[] = {2, 5, 9, 17}, ranks[] = {0, 1, 3, 8, 16};
    sync_configure(true, NULL);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < 5 && ranks[k] < n[i]; k++) {
            starving = ranks[k];
            make_team(n[i]);
            as_ranks(n[i], combine_starved);
            free_team(n[i]);
        }
}
END_TEST

UNIT_MAIN(bcast_delivers_the_data_of_the_root, gather_delivers_all_blocks_to_the_root,
          scatter_delivers_one_block_to_each_rank, allgather_delivers_all_blocks_to_all_ranks,
          alltoall_delivers_a_block_between_any_two_ranks, reduce_combines_in_rank_order,
          allreduce_combines_in_rank_order, scan_combines_the_ranks_before,
          reduce_scatter_combines_shares, any_collective_follows_any_other,
          operations_without_data_do_not_synchronise, ranks_that_only_contribute_do_not_wait,
          data_that_the_os_does_not_copy_arrive_all_the_same, thousands_in_a_row, numbers_may_wrap,
          the_next_operation_waits_for_a_free_slot, used_cells_are_noted,
          results_larger_than_the_caches_are_written_with_non_temporal_stores,
          data_longer_than_the_buffer_are_truncated_and_reported,
          long_operands_are_combined_once_for_all_ranks,
          a_rank_without_memory_reports_it_and_keeps_no_rank_waiting)
