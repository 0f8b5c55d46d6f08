/* A timeline has the highest value of each interval, whatever its length becomes, and timelines of
 * several ranks add up interval by interval. */
#include "core/timeline.h"
#include "tests/unit/unit.h"

static const uint64_t ms = 1000000;

static struct timeline t, u;

static void expect(const struct timeline *line, uint64_t interval, uint64_t first, uint64_t count,
                   const uint64_t *highest)
{
    ck_assert_uint_eq(line->interval, interval);
    ck_assert_uint_eq(line->first, first);
    ck_assert_uint_eq(line->count, count);
    for (uint64_t i = 0; i < count; i++)
        INSIST(line->highest[i] == highest[i], "interval %d: %d", (int)i, (int)line->highest[i]);
}

#define INTERVALS(line, interval, first, ...)                                           \
    expect(line, interval, first, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), \
           (uint64_t[]){__VA_ARGS__})

START_TEST(intervals_keep_their_highest_value)
{
    t = (struct timeline){0};
    timeline_set(&t, 5 * ms + 1, 10);
    timeline_set(&t, 5 * ms + 2, 30);
    timeline_set(&t, 5 * ms + 3, 20);
    INTERVALS(&t, ms, 5, 30);
    /* The value lasts until the next one. */
    timeline_set(&t, 8 * ms, 5);
    timeline_set(&t, 9 * ms, 1);
    INTERVALS(&t, ms, 5, 30, 20, 20, 20, 5);
}
END_TEST

/* Whatever the length of the intervals, each is the highest value of the milliseconds in it. */
START_TEST(long_times_have_longer_intervals)
{
    for (uint64_t begin = 0; begin < 9; begin++) {
        t = (struct timeline){0};
        for (uint64_t i = 0; i < 1000; i++) {
            timeline_set(&t, (begin + i) * ms, begin + i);
            INSIST(t.count <= TIMELINE_LENGTH && t.count * 2 + 2 >= min_size(i, TIMELINE_LENGTH),
                   "%d intervals of %d", (int)t.count, (int)i);
        }
        INSIST(t.first == begin * ms / t.interval, "begins with %d", (int)t.first);
        for (uint64_t i = 0; i + 1 < t.count; i++)
            INSIST(t.highest[i] == (t.first + i + 1) * (t.interval / ms) - 1, "interval %d: %d",
                   (int)i, (int)t.highest[i]);
        ck_assert_uint_eq(t.highest[t.count - 1], begin + 999);
    }
}
END_TEST

START_TEST(a_long_pause_is_one_value)
{
    t = (struct timeline){0};
    timeline_set(&t, 3 * ms, 7);
    timeline_set(&t, UINT64_C(1000000) * ms, 7);
    ck_assert_uint_le(t.count, TIMELINE_LENGTH);
    for (uint64_t i = 0; i < t.count; i++)
        INSIST(t.highest[i] == 7, "interval %d", (int)i);
}
END_TEST

START_TEST(timelines_add_up)
{
    t = u = (struct timeline){0};
    timeline_add(&t, &u);
    ck_assert_uint_eq(t.interval, 0);
    timeline_set(&u, 4 * ms, 10);
    timeline_set(&u, 6 * ms, 20);
    timeline_add(&t, &u);
    INTERVALS(&t, ms, 4, 10, 10, 20);
    /* Add a later timeline; the first keeps its last value. */
    u = (struct timeline){0};
    timeline_set(&u, 7 * ms, 1);
    timeline_set(&u, 8 * ms, 2);
    timeline_add(&t, &u);
    INTERVALS(&t, ms, 4, 10, 10, 20, 21, 22);
    ck_assert_uint_eq(t.current, 22);
    /* Add a timeline with longer intervals, and one that is far away. */
    u = (struct timeline){.interval = 2 * ms, .first = 1, .count = 2, .highest = {100, 200}};
    timeline_add(&t, &u);
    INTERVALS(&t, 2 * ms, 1, 100, 210, 21, 22);
    u = (struct timeline){.interval = 2 * ms, .first = 1000, .count = 1, .highest = {5}};
    timeline_add(&t, &u);
    ck_assert_uint_le(t.count, TIMELINE_LENGTH);
    ck_assert_uint_eq(t.highest[0], 210);
    ck_assert_uint_eq(t.highest[t.count - 1], 27);
}
END_TEST

UNIT_MAIN(intervals_keep_their_highest_value, long_times_have_longer_intervals,
          a_long_pause_is_one_value, timelines_add_up)
