/* Whose turn it is to copy long private data: the kernel's, or the ranks' that fill cells. */
#include "coll_inplace/pace.h"
#include "alloc/reach.h"
#include "coll_inplace/choose.h"
#include "core/config.h"
#include "tests/unit/unit.h"

static _Atomic uint32_t turn;
static uint32_t op;

enum { LIMIT = 1000, SLOW = LIMIT + 1, TOO_SLOW = 2 * LIMIT + 1 };

static struct pace measured(void)
{
    config.kernel_copies = 2;
    atomic_store(&turn, 0);
    struct pace pace = pace_begin(true, &turn);
    pace.limit = LIMIT;
    return pace;
}

static bool fetches_next(struct pace *pace)
{
    return pace_fetches(pace, ++op);
}

/* A turn of cells, all but one of which take `ticks`. */
static void fill(struct pace *pace, uint64_t ticks, uint64_t once, size_t bytes)
{
    for (unsigned i = 0; i < PACE_CELLS; i++)
        pace_filled(pace, i == 8 ? once : ticks, bytes);
}

START_TEST(the_setting_decides)
{
    static const struct {
        uint64_t setting;
        bool reaches, shares, fetches, measures;
    } tries[] = {
        {0, true, true, false, false},  {1, true, true, true, false},
        {1, false, true, false, false}, {2, true, true, false, true},
        {2, false, true, false, false}, {2, true, false, true, false},
        {0, true, false, false, false},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        config.kernel_copies = tries[i].setting;
        atomic_store(&turn, 0);
        struct pace pace = pace_begin(tries[i].reaches, tries[i].shares ? &turn : NULL);
        INSIST(fetches_next(&pace) == tries[i].fetches, "try %zu", i);
        for (unsigned n = 0; n < PACE_CELLS; n++)
            pace_filled(&pace, 1000000000, PACE_SAMPLE);
        INSIST(fetches_next(&pace) == (tries[i].fetches || tries[i].measures), "try %zu", i);
        for (unsigned n = 0; n < PACE_BUFFERS; n++)
            pace_stayed(&pace, PACE_BYTES);
        INSIST(fetches_next(&pace) == tries[i].fetches, "try %zu", i);
    }
}
END_TEST

START_TEST(slow_cells_are_the_kernels_turn)
{
    struct pace pace = measured();
    fill(&pace, SLOW, SLOW, PACE_SAMPLE);
    ck_assert(fetches_next(&pace));
    for (unsigned i = 0; i < PACE_BYTES / PACE_SAMPLE; i++) {
        INSIST(fetches_next(&pace), "after %u buffers", i);
        pace_filled(&pace, 1001, PACE_SAMPLE); /* of data that cannot stay: not counted */
        pace_stayed(&pace, PACE_SAMPLE);
    }
    ck_assert(!fetches_next(&pace)); /* the cells are tried again */
    fill(&pace, 1000, 1000, PACE_SAMPLE);
    ck_assert(!fetches_next(&pace));
}
END_TEST

START_TEST(a_turn_of_the_kernels_is_some_buffers_at_least)
{
    struct pace pace = measured();
    fill(&pace, SLOW, SLOW, PACE_SAMPLE);
    for (unsigned i = 0; i < PACE_BUFFERS; i++) {
        ck_assert(fetches_next(&pace));
        pace_stayed(&pace, PACE_BYTES);
    }
    ck_assert(!fetches_next(&pace));
}
END_TEST

/* How many buffers stay until cells are tried again. */
static unsigned kernels_turn(struct pace *pace)
{
    unsigned buffers = 0;
    for (; fetches_next(pace); buffers++)
        pace_stayed(pace, PACE_BYTES);
    return buffers;
}

START_TEST(each_trial_that_fails_doubles_the_wait)
{
    struct pace pace = measured();
    for (unsigned wait = 1; wait <= 4 * PACE_PATIENCE; wait *= 2) {
        fill(&pace, TOO_SLOW, TOO_SLOW, PACE_SAMPLE);
        ck_assert_uint_eq(kernels_turn(&pace),
                          PACE_BUFFERS * (wait < PACE_PATIENCE ? wait : PACE_PATIENCE));
    }
}
END_TEST

/* It counts how long cells were used, not whether ours were fast: there are other ranks. */
START_TEST(a_long_turn_of_cells_is_no_failure)
{
    struct pace pace = measured();
    unsigned wait = 1;
    for (uint32_t ops = PACE_TRIAL - 1; ops <= PACE_TRIAL + 1; ops++) {
        fill(&pace, TOO_SLOW, TOO_SLOW, PACE_SAMPLE);
        ck_assert_uint_eq(kernels_turn(&pace), PACE_BUFFERS * wait);
        for (uint32_t n = 0; n < ops; n++) {
            fill(&pace, 1000, 1000, PACE_SAMPLE);
            ck_assert(!fetches_next(&pace));
        }
        wait = ops < PACE_TRIAL ? 2 * wait : 1;
    }
    fill(&pace, TOO_SLOW, TOO_SLOW, PACE_SAMPLE);
    ck_assert_uint_eq(kernels_turn(&pace), PACE_BUFFERS);
}
END_TEST

/* Also for a rank that fills none itself. */
START_TEST(all_wait_for_the_next_trial)
{
    struct pace one = measured(), other = measured();
    for (unsigned trial = 0; trial < 2; trial++) {
        fill(&one, TOO_SLOW, TOO_SLOW, PACE_SAMPLE);
        ck_assert(fetches_next(&one) && pace_fetches(&other, op));
        if (trial == 0)
            kernels_turn(&one);
        ck_assert(trial || !pace_fetches(&other, op));
    }
    ck_assert_uint_eq(kernels_turn(&other), 2 * PACE_BUFFERS);
}
END_TEST

/* What was in no cache when the trial began. */
START_TEST(a_trial_goes_round_all_cells)
{
    struct pace pace = measured();
    fill(&pace, SLOW, SLOW, PACE_SAMPLE);
    kernels_turn(&pace);
    for (unsigned times = 0; times < 3; times++) {
        for (unsigned i = 0; i < PACE_DOUBTS; i++) {
            fill(&pace, SLOW, SLOW, PACE_SAMPLE);
            ck_assert(!fetches_next(&pace));
        }
        fill(&pace, LIMIT, LIMIT, PACE_SAMPLE);
        ck_assert(!fetches_next(&pace));
    }
    for (unsigned i = 0; i <= PACE_DOUBTS; i++) {
        ck_assert(!fetches_next(&pace));
        fill(&pace, SLOW, SLOW, PACE_SAMPLE);
    }
    ck_assert_uint_eq(kernels_turn(&pace), 2 * PACE_BUFFERS);
    fill(&pace, SLOW, SLOW, PACE_SAMPLE);
    fill(&pace, TOO_SLOW, TOO_SLOW, PACE_SAMPLE);
    ck_assert(fetches_next(&pace));
}
END_TEST

START_TEST(one_fast_cell_is_enough)
{
    struct pace pace = measured();
    fill(&pace, 50000, 999, PACE_SAMPLE);
    ck_assert(!fetches_next(&pace));
    fill(&pace, 50000, 1001, PACE_SAMPLE); /* that one was of the turn before */
    ck_assert(fetches_next(&pace));
}
END_TEST

START_TEST(shorter_cells_count_as_long_ones)
{
    struct pace pace = measured();
    fill(&pace, 250, 250, PACE_SAMPLE / 4);
    ck_assert(!fetches_next(&pace));
    for (unsigned i = 0; i < 100; i++)
        pace_filled(&pace, 50000, PACE_LEAST - 1);
    ck_assert(!fetches_next(&pace));
    fill(&pace, 252, 252, PACE_SAMPLE / 4);
    ck_assert(fetches_next(&pace));
}
END_TEST

/* Within an operation nothing changes, in the next one it does for all. */
START_TEST(all_ranks_take_turns_together)
{
    struct pace one = measured(), other = measured();
    ck_assert(!fetches_next(&one) && !pace_fetches(&other, op));
    fill(&one, SLOW, SLOW, PACE_SAMPLE);
    ck_assert(!pace_fetches(&one, op) && !pace_fetches(&other, op));
    ck_assert(fetches_next(&other) && pace_fetches(&one, op));
    for (unsigned i = 0; i < PACE_BUFFERS; i++)
        pace_stayed(&other, PACE_BYTES);
    ck_assert(pace_fetches(&one, op) && pace_fetches(&other, op));
    ck_assert(!fetches_next(&one) && !pace_fetches(&other, op));
}
END_TEST

/* More than reading the clock twice, less than a millisecond; and in proportion. */
START_TEST(what_the_kernel_takes_is_measured_once)
{
    uint64_t ticks = reach_ticks(PACE_SAMPLE);
    ck_assert_uint_gt(ticks, 200);
    ck_assert_uint_lt(ticks, 10000000);
    ck_assert_uint_eq(reach_ticks(PACE_SAMPLE), ticks);
    ck_assert_uint_eq(reach_ticks(2 * (size_t)PACE_SAMPLE) / 2, ticks);
    config.kernel_copies = 2;
    ck_assert_uint_eq(pace_begin(true, &turn).limit, ticks * CHOOSE_FILL / 100);
}
END_TEST

UNIT_MAIN(the_setting_decides, slow_cells_are_the_kernels_turn,
          a_turn_of_the_kernels_is_some_buffers_at_least, each_trial_that_fails_doubles_the_wait,
          a_long_turn_of_cells_is_no_failure, all_wait_for_the_next_trial,
          a_trial_goes_round_all_cells, one_fast_cell_is_enough, shorter_cells_count_as_long_ones,
          all_ranks_take_turns_together, what_the_kernel_takes_is_measured_once)
