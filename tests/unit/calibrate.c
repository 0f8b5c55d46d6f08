/* The two ranks that measure what copies cost: they find each other and a result, or neither waits
 * for long. The ranks are processes. */
#include "tests/unit/processes.h"

#include "peer_copy/calibrate.c"

enum { RANKS = 3, UNKNOWN = 99 };

static uint64_t late_ns[RANKS];
static bool absent[RANKS];

/* Whether the two ranks that measure are in calibrate() at the same time. */
static bool is_complete(void)
{
    return !late_ns[0] && !late_ns[RANKS - 1] && !absent[0] && !absent[RANKS - 1];
}

static void settle_and_calibrate(unsigned rank)
{
    config.kernel_copies = 2;
    enter_in_order(RANKS - 1 - rank); /* the last rank leads: members are not in rank order */
    meet(RANKS);
    settle(rank, RANKS);
    EXPECT(node.header && arena_open(node_slice(node.me), layout_symmetric_at(node.header),
                                     node.header->control_size, SIZE_MAX));
    sync_configure(false, NULL);
    if (rank == 0)
        node.header->copy_policy = UNKNOWN;
    meet(RANKS);
    if (late_ns[rank])
        sleep_us((unsigned)(late_ns[rank] / 1000));
    if (is_complete())
        patience_ns = 10000000000;
    uint64_t start = sync_now_ns();
    if (!absent[rank])
        calibrate();
    EXPECT(sync_now_ns() - start < 5000000000, "rank %u", rank);
    meet(RANKS);
    uint32_t policy = node.header->copy_policy, state = sync_load(&node.header->calibration.state);
    if (is_complete())
        EXPECT(state == RUNNING && policy < 8, "rank %u: state %u, policy %u", rank, state, policy);
    else
        EXPECT(state == OVER && policy == UNKNOWN, "rank %u: state %u, policy %u", rank, state,
               policy);
}

static void run_all(void)
{
    open_desk(RANKS);
    run(settle_and_calibrate, 0, RANKS - 1);
    memset(late_ns, 0, sizeof late_ns);
    memset(absent, 0, sizeof absent);
}

START_TEST(first_and_last_rank_find_a_policy)
{
    for (int times = 0; times < 3; times++)
        run_all();
}
END_TEST

START_TEST(other_ranks_are_not_waited_for)
{
    absent[1] = true;
    run_all();
}
END_TEST

START_TEST(no_rank_waits_long_for_a_late_one)
{
    late_ns[0] = 300000000;
    run_all();
    late_ns[RANKS - 1] = 300000000;
    run_all();
}
END_TEST

START_TEST(no_rank_waits_long_for_a_missing_one)
{
    absent[0] = true;
    run_all();
}
END_TEST

UNIT_MAIN(first_and_last_rank_find_a_policy, other_ranks_are_not_waited_for,
          no_rank_waits_long_for_a_late_one, no_rank_waits_long_for_a_missing_one)
