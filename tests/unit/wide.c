/* When long data go through wide cells, and when no longer. */
#include "coll_inplace/wide.h"
#include "tests/unit/unit.h"

static struct wide measured(void)
{
    config.wide_cells = WIDE_AS_MEASURED;
    return wide_begin(false);
}

/* Fills until the way changes, `most` at the most; each takes what `ticks` says of the way. */
static unsigned fill(struct wide *w, unsigned most, uint64_t narrow, uint64_t wide)
{
    bool was_on = w->on;
    unsigned fills = 0;
    while (fills < most && w->on == was_on && !w->settled) {
        fills++;
        if (wide_judge(w, w->on ? wide : narrow, FILL_SAMPLE))
            wide_try(w, true);
    }
    return fills;
}

START_TEST(it_is_tried_when_it_would_have_paid)
{
    struct wide w = measured();
    ck_assert_uint_eq(fill(&w, 100000, 1000, 750), WIDE_AFTER);
    ck_assert(w.on && !w.settled);
    ck_assert_uint_eq(fill(&w, 100000, 1000, 750), WIDE_ROUND + WIDE_WINDOW);
    ck_assert(w.on && w.settled);
}
END_TEST

START_TEST(with_memory_at_hand_it_is_tried_at_once)
{
    config.wide_cells = WIDE_AS_MEASURED;
    struct wide w = wide_begin(true);
    ck_assert_uint_eq(fill(&w, 100000, 1000, 750), WIDE_WINDOW);
    ck_assert(w.on);
}
END_TEST

START_TEST(what_is_not_worth_it_is_tried_again_later_and_later)
{
    struct wide w = measured();
    unsigned after = WIDE_AFTER;
    for (unsigned trial = 0; trial < 4; trial++) {
        ck_assert_uint_eq(fill(&w, 10000000, 1000, 760), after);
        ck_assert_uint_eq(fill(&w, 10000000, 1000, 760), WIDE_ROUND + WIDE_WINDOW);
        ck_assert(!w.on && !w.settled);
        after *= WIDE_LATER;
    }
}
END_TEST

/* The narrow way as it was at last: ranks may have moved. */
START_TEST(it_is_compared_with_what_it_replaces)
{
    struct wide w = measured();
    fill(&w, WIDE_AFTER - WIDE_WINDOW, 100, 0);
    ck_assert_uint_eq(fill(&w, 1000, 1000, 0), WIDE_WINDOW);
    fill(&w, 1000, 0, 500);
    ck_assert(w.on && w.settled);
}
END_TEST

START_TEST(the_first_round_does_not_count)
{
    static const struct {
        uint64_t first, then;
        bool stays;
    } tries[] = {{90, 900, false}, {9000, 700, true}};
    for (unsigned i = 0; i < 2; i++) {
        struct wide w = measured();
        fill(&w, WIDE_AFTER, 1000, 0);
        ck_assert_uint_eq(fill(&w, WIDE_ROUND, 0, tries[i].first), WIDE_ROUND);
        fill(&w, 1000, 0, tries[i].then);
        INSIST(w.on == tries[i].stays && w.settled == tries[i].stays, "try %u", i);
    }
}
END_TEST

/* One fill in some ten is interrupted, or finds all lines near by. */
START_TEST(single_fills_do_not_decide)
{
    static const uint64_t odd[] = {1, 100000};
    for (unsigned i = 0; i < 4; i++) {
        struct wide w = measured();
        while (!w.settled && w.after == WIDE_AFTER) {
            uint64_t ticks = w.timed % 10 == 9 ? odd[i / 2] : w.on && i % 2 ? 300 : 1000;
            if (wide_judge(&w, ticks, FILL_SAMPLE))
                wide_try(&w, true);
        }
        INSIST(w.settled == i % 2, "try %u", i);
    }
}
END_TEST

START_TEST(without_memory_nothing_is_tried_again)
{
    struct wide w = measured();
    for (unsigned i = 1; i < WIDE_AFTER; i++)
        ck_assert(!wide_judge(&w, 1000, FILL_SAMPLE));
    ck_assert(wide_judge(&w, 1000, FILL_SAMPLE));
    wide_try(&w, false);
    ck_assert(!w.on && w.settled);
}
END_TEST

/* After the kernel's turn: what has been timed counts, or if nothing was, anything is worth it. */
START_TEST(it_may_be_tried_early)
{
    struct wide w = measured();
    wide_try(&w, true);
    fill(&w, 1000, 0, 1000000);
    ck_assert(w.on && w.settled);
    w = measured();
    fill(&w, 2 * TYPICAL_RUN, 1000, 0);
    wide_try(&w, true);
    fill(&w, 1000, 0, 760);
    ck_assert(!w.on);
}
END_TEST

START_TEST(the_setting_decides)
{
    config.wide_cells = WIDE_NEVER;
    ck_assert(wide_begin(true).settled && !wide_begin(true).on);
    config.wide_cells = WIDE_ALWAYS;
    struct wide w = wide_begin(false);
    wide_try(&w, true);
    ck_assert(w.on && w.settled);
}
END_TEST

UNIT_MAIN(it_is_tried_when_it_would_have_paid, with_memory_at_hand_it_is_tried_at_once,
          what_is_not_worth_it_is_tried_again_later_and_later, it_is_compared_with_what_it_replaces,
          the_first_round_does_not_count, single_fills_do_not_decide,
          without_memory_nothing_is_tried_again, it_may_be_tried_early, the_setting_decides)
