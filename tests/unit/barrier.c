/* The barrier: everything that any rank wrote before it is visible to every rank after it. */
#include "core/barrier.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct barrier_flag flags[UNIT_RANKS_MAX];
static uint32_t first_round, rounds;

/* Written by the ranks, without atomics. Two rows, since a rank may be one barrier ahead. */
static uint32_t wrote[2][UNIT_RANKS_MAX];

static void write_and_look(unsigned me)
{
    struct barrier barrier = {
        .flags = flags, .rank = me, .size = unit_ranks.size, .rounds = first_round};
    struct chance chance = {me};
    for (uint32_t round = 1; round <= rounds; round++) {
        uint32_t *row = wrote[round % 2];
        row[me] = round;
        dawdle(&chance);
        barrier_wait(&barrier);
        for (unsigned r = 0; r < unit_ranks.size; r++)
            EXPECT(row[r] == round, "%u of %u saw %u of rank %u in round %u", me, unit_ranks.size,
                   row[r], r, round);
    }
}

static void run(unsigned size, uint32_t first)
{
    first_round = first;
    for (unsigned r = 0; r < size; r++)
        flags[r].entered = (struct sync_word){.value = first};
    memset(wrote, 0, sizeof wrote);
    as_ranks(size, write_and_look);
}

START_TEST(writes_before_a_barrier_are_visible_after_it)
{
    rounds = effort(60);
    for (unsigned size = 1; size <= UNIT_RANKS_MAX; size++) {
        sync_configure(size > 2 || size % 2, NULL);
        run(size, 0);
    }
}
END_TEST

START_TEST(rounds_may_wrap)
{
    rounds = 40;
    sync_configure(true, NULL);
    for (unsigned size = 2; size <= 20; size += 3)
        run(size, UINT32_MAX - 30);
}
END_TEST

/* ---- a rank that is ahead ---- */

static _Atomic bool left;

/* Rank 0 is delayed inside a barrier that the others leave and enter again. */
static void delay_rank_0(unsigned me)
{
    struct barrier barrier = {.flags = flags, .rank = me, .size = 3};
    if (me == 0) {
        /* the first step of a barrier, before reading the flags of the others */
        sync_publish_ordered(&flags[0].entered, 1);
        while (atomic_load(&flags[1].entered.value) != 2 ||
               atomic_load(&flags[2].entered.value) != 2)
            sleep_us(100);
        sleep_us(2000);
        EXPECT(!atomic_load(&left));
        sync_publish_ordered(&flags[0].entered, 0); /* barrier_wait() begins with this step */
        barrier_wait(&barrier);
        barrier_wait(&barrier);
        return;
    }
    barrier_wait(&barrier);
    barrier_wait(&barrier);
    atomic_store(&left, true);
}

START_TEST(a_rank_may_run_one_barrier_ahead)
{
    memset(flags, 0, sizeof flags);
    atomic_store(&left, false);
    as_ranks(3, delay_rank_0);
}
END_TEST

UNIT_MAIN(writes_before_a_barrier_are_visible_after_it, rounds_may_wrap,
          a_rank_may_run_one_barrier_ahead)
