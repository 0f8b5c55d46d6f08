/* The collectives of intercommunicators: random rounds of each, in groups of all sizes, and cases
 * that such rounds miss. */
#include "tests/unit/plays.h"

#include "coll_inplace/transport.h"

enum { MUCH = 500000 };

static void play_in_groups(play_fn *what, unsigned a, unsigned b, unsigned how_often,
                           uint32_t number)
{
    make_groups(a, b, number % 2 == 0);
    set_numbers(a + b, number);
    play(what, how_often, MUCH);
}

/* With private memory that the peers can access, and without. */
static void play_in_all_sizes(play_fn *what)
{
    static const unsigned groups[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1},
                                         {1, 4}, {3, 4}, {5, 2}, {9, 4}, {16, 16}};
    static const unsigned often[] = {80, 30, 30, 30, 20, 20, 15, 15, 6, 3};
    endless = true;
    for (unsigned i = 0; i < sizeof often / sizeof *often; i++)
        for (uint32_t number = 0; number < 2; number++) {
            sync_configure(i > 0, NULL);
            play_in_groups(what, groups[i][0], groups[i][1], effort(often[i]), number);
        }
    endless = false;
}

TEST_OF(barrier_waits_for_the_other_group, play_barrier)
TEST_OF(bcast_delivers_the_data_of_the_root, play_bcast)
TEST_OF(gather_delivers_all_blocks_to_the_root, play_gather)
TEST_OF(scatter_delivers_one_block_to_each_rank, play_scatter)
TEST_OF(allgather_delivers_the_blocks_of_the_other_group, play_allgather)
TEST_OF(alltoall_delivers_a_block_between_any_two_ranks, play_alltoall)
TEST_OF(reduce_combines_the_other_group_in_rank_order, play_reduce)
TEST_OF(allreduce_combines_the_other_group_in_rank_order, play_allreduce)
TEST_OF(reduce_scatter_combines_shares, play_reduce_scatter)
TEST_OF(any_collective_follows_any_other, NULL)

START_TEST(data_that_the_os_does_not_copy_arrive_all_the_same)
{
    sync_configure(true, NULL);
    atomic_store(&copies_refused, 0);
    refuses_percent = 30;
    for (unsigned which = 0; which < every_count(); which++) {
        make_groups(2, 3, true);
        play(every[which], effort(60), 4 * MUCH);
    }
    refuses_percent = 0;
    ck_assert_uint_gt(atomic_load(&copies_refused), 0);
}
END_TEST

START_TEST(numbers_may_wrap)
{
    sync_configure(true, NULL);
    for (unsigned which = 0; which < sizeof every / sizeof *every - 1; which++)
        play_in_groups(every[which], 2, 3, 40, UINT32_MAX - 20);
    play_in_groups(NULL, 3, 2, 100, UINT32_MAX - 50);
}
END_TEST

static void make_with_access(void)
{
    make_groups(2, 2, true);
}

static void make_without_access(void)
{
    make_groups(2, 2, false);
}

START_TEST(the_next_operation_waits_for_a_free_slot)
{
    sync_configure(true, NULL);
    play_after_late_reads(make_with_access, MUCH);
    play_after_late_reads(make_without_access, MUCH);
}
END_TEST

/* ---- ranks that pass ---- */

enum { FAR = 1000 };
static struct sync_word passed;

static void pass_or_bcast(unsigned me)
{
    if (me != 1)
        sync_wait_until(&passed, 1);
    for (int i = 0; i < FAR; i++) {
        int data = me == 0 ? i : -1;
        if (me == 1)
            coll_pass(team_of[me]);
        else
            EXPECT(coll_bcast(team_of[me], buffer(&data, BYTES, sizeof data),
                              me ? 0 : INTER_ROOT) == COLL_OK &&
                   data == i);
    }
    if (me == 1)
        sync_publish_ordered(&passed, 1);
}

START_TEST(a_rank_that_passes_runs_far_ahead)
{
    sync_configure(true, NULL);
    make_groups(2, 2, true);
    as_ranks(4, pass_or_bcast);
    free_team(4);
}
END_TEST

/* ---- partners ---- */

/* Each rank has all ranks of the other group as partners once, in growing steps. */
START_TEST(partners_meet_in_the_same_step)
{
    for (unsigned group = 1; group < 12; group++)
        for (unsigned others_are = 1; others_are < 12; others_are++)
            for (unsigned r = 0; r < group; r++) {
                unsigned steps = group > others_are ? group : others_are, met = 0;
                int last = -1;
                struct team t = {.size = others_are,
                                 .first_partner = first_partner(r, group, others_are)};
                for (unsigned i = 0; i < others_are; i++) {
                    int step = (int)((r + team_partner(&t, i)) % steps);
                    INSIST(step > last, "%u of %u with %u: step %d after %d", r, group, others_are,
                           step, last);
                    met |= 1u << team_partner(&t, i);
                    last = step;
                }
                ck_assert_uint_eq(met, (1u << others_are) - 1);
            }
}
END_TEST

/* ---- no memory to combine in ---- */

static unsigned starving;

/* A long reduction for all ranks is left to the host by all of them, or by none. */
static void combine_starved(unsigned me)
{
    static const size_t length[] = {8, TEAM_CELL, 5 * STREAM_CELL};
    struct team *t = team_of[me];
    struct reducer add = {
        .apply = apply_add_bytes, .element = 1, .map = BYTES, .starved = me == starving};
    char *from = calloc(1, length[2]), *to = calloc(1, length[2]);
    for (unsigned i = 0; i < 3; i++) {
        struct buffer in = buffer(from, BYTES, length[i]), out = buffer(to, BYTES, length[i]);
        EXPECT(coll_allreduce(t, &add, in, out) == (length[i] > TEAM_CELL ? COLL_LEFT
                                                    : me == starving      ? COLL_NO_MEMORY
                                                                          : COLL_OK));
        if (me == 1)
            coll_pass(t);
        else
            EXPECT(coll_reduce(t, &add, in, out, me ? 0 : INTER_ROOT) ==
                   (me == 0 && starving == 0 ? COLL_NO_MEMORY : COLL_OK));
    }
    coll_barrier(t);
    free(from);
    free(to);
}

START_TEST(a_rank_without_memory_reports_it_and_keeps_no_rank_waiting)
{
    sync_configure(true, NULL);
    for (starving = 0; starving < 4; starving++)
        for (unsigned can_access_peers = 0; can_access_peers < 2; can_access_peers++) {
            make_groups(2, 2, can_access_peers);
            as_ranks(4, combine_starved);
            free_team(4);
        }
}
END_TEST

static _Atomic unsigned ahead;

/* Many small blocks are copied into a block of memory, which is kept. */
static void scatter_ahead(unsigned me)
{
    /* LEAST if the root has needed another ring before rank 1 had begun. */
    enum { SEEN = SLOT_LAG, LEAST = TEAM_RINGS * TEAM_CELLS, LIMIT = SEEN + LEAST };
    char *data = malloc(2 * EAGER_MAX), *mine = malloc(EAGER_MAX);
    struct blocks all = {.at = data, .map = BYTES, .count = EAGER_MAX};
    for (int i = 1; i <= LIMIT + 40; i++) {
        if (me == 1 && i == SEEN + 1) {
            while (ahead < LEAST)
                sleep_us(100);
            sleep_us(2000);
            EXPECT(ahead >= LEAST && ahead <= LIMIT, "%u", ahead);
        }
        for (int r = 0; r < 2; r++)
            memset(data + r * EAGER_MAX, i * 7 + r + 1, EAGER_MAX);
        EXPECT(coll_scatter(team_of[me], &all, buffer(mine, BYTES, EAGER_MAX), me ? 0 : INTER_ROOT,
                            false, true) == COLL_OK);
        if (me == 0)
            ahead = (unsigned)i;
        else
            EXPECT(mine[0] == (char)(i * 7 + (int)me) && mine[EAGER_MAX - 1] == mine[0],
                   "operation %d", i);
    }
    free(data);
    free(mine);
}

START_TEST(a_root_of_many_small_blocks_runs_ahead)
{
    sync_configure(true, NULL);
    make_groups(1, 2, true);
    ahead = 0;
    as_ranks(3, scatter_ahead);
    free_team(3);
}
END_TEST

/* ---- more data than room ---- */

static void receive_too_little(unsigned me)
{
    static const size_t much[] = {8, 100, 5000, 20000, 100000};
    for (unsigned i = 0; i < 5; i++) {
        char *data = malloc(much[i]);
        memset(data, me ? 1 : 7, much[i]);
        struct buffer b = buffer(data, BYTES, me == 1 ? much[i] - 1 : much[i]);
        EXPECT(coll_bcast(team_of[me], b, me ? 0 : INTER_ROOT) ==
               (me == 1 ? COLL_TRUNCATE : COLL_OK));
        EXPECT(data[much[i] - 2] == 7 && data[much[i] - 1] == (me == 1 ? 1 : 7));
        free(data);
    }
}

START_TEST(data_longer_than_the_buffer_are_truncated_and_reported)
{
    sync_configure(true, NULL);
    for (int can_access_peers = 0; can_access_peers < 2; can_access_peers++) {
        make_groups(1, 2, can_access_peers);
        as_ranks(3, receive_too_little);
        free_team(3);
    }
}
END_TEST

UNIT_MAIN(barrier_waits_for_the_other_group, bcast_delivers_the_data_of_the_root,
          gather_delivers_all_blocks_to_the_root, scatter_delivers_one_block_to_each_rank,
          allgather_delivers_the_blocks_of_the_other_group,
          alltoall_delivers_a_block_between_any_two_ranks,
          reduce_combines_the_other_group_in_rank_order,
          allreduce_combines_the_other_group_in_rank_order, reduce_scatter_combines_shares,
          any_collective_follows_any_other, data_that_the_os_does_not_copy_arrive_all_the_same,
          numbers_may_wrap, a_rank_that_passes_runs_far_ahead, partners_meet_in_the_same_step,
          the_next_operation_waits_for_a_free_slot,
          a_rank_without_memory_reports_it_and_keeps_no_rank_waiting,
          a_root_of_many_small_blocks_runs_ahead,
          data_longer_than_the_buffer_are_truncated_and_reported)
