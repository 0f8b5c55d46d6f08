/* The set of unused address ranges: random calls have the results that a table of all its units
 * predicts, and calls on many ranges take few steps. */
#include "alloc/ranges.c"
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>

enum { UNIT = 64, UNITS = 400 };

static struct ranges set;
static bool in_set[UNITS];

static char *unit_at(size_t i)
{
    return (char *)(uintptr_t)((i + 8) * UNIT);
}

static bool all_are(size_t first, size_t count, bool wanted)
{
    for (size_t i = first; i < first + count; i++)
        if (i >= UNITS || in_set[i] != wanted)
            return false;
    return true;
}

/* Whether a subtree, whose ranges lie in [low, high), agrees with the table. */
static bool is_right(const struct range *tree, size_t low, size_t high)
{
    if (!tree)
        return all_are(low, high - low, false);
    size_t first = (uintptr_t)tree->start / UNIT - 8, end = first + tree->size / UNIT;
    size_t left = largest(tree->left), right = largest(tree->right), most = tree->size;
    most = left > most ? left : most;
    most = right > most ? right : most;
    return first >= low && end <= high && end > first && all_are(first, end - first, true) &&
           !(first && in_set[first - 1]) && !(end < UNITS && in_set[end]) &&
           tree->largest == most && !(left && tree->left->priority > tree->priority) &&
           !(right && tree->right->priority > tree->priority) && is_right(tree->left, low, first) &&
           is_right(tree->right, end, high);
}

/* The lowest aligned place for so many units, or NULL. */
static char *expected_place(size_t count, size_t align)
{
    for (size_t i = 0; i + count <= UNITS; i++)
        if ((uintptr_t)unit_at(i) % align == 0 && all_are(i, count, true))
            return unit_at(i);
    return NULL;
}

static void take(size_t count, size_t align)
{
    char *wanted = expected_place(count, align);
    ck_assert_ptr_eq(ranges_take(&set, count * UNIT, align), wanted);
    if (wanted)
        memset(&in_set[(uintptr_t)wanted / UNIT - 8], 0, count);
}

static void give(size_t first, size_t count)
{
    if (!all_are(first, count, false))
        return;
    ck_assert(ranges_give(&set, unit_at(first), count * UNIT));
    memset(&in_set[first], 1, count);
}

static void take_last(size_t end)
{
    size_t first = end;
    while (first && in_set[first - 1])
        first--;
    bool is_last = first < end && (end == UNITS || all_are(end, UNITS - end, false));
    ck_assert_ptr_eq(ranges_take_last(&set, unit_at(end)), is_last ? unit_at(first) : NULL);
    if (is_last)
        memset(&in_set[first], 0, end - first);
}

START_TEST(random_calls_agree_with_a_table)
{
    enum { CALLS = 5000 };
    unsigned random = 1;
    for (int i = 0; i < CALLS; i++) {
        random = random * 1664525 + 1013904223;
        unsigned what = random >> 28, a = random >> 8 & 0xfff, b = random >> 20 & 0xff;
        if (what < 8)
            give(a % UNITS, 1 + b % 6);
        else if (what < 15)
            take(1 + b % 9, (size_t)UNIT << a % 4);
        else
            take_last(a % (UNITS + 1));
        ck_assert(is_right(set.root, 0, UNITS));
    }
    ranges_clear(&set);
    ck_assert(!set.root && !set.spare);
}
END_TEST

/* The test takes 0.2 s; with a list of all ranges it would take 10 s or more. */
START_TEST(calls_on_many_ranges_take_few_steps)
{
    enum { RANGES = 100000, SECONDS = 5, STEP = 7919 /* has no divisor in common with RANGES */ };
    clock_t start = clock();
    bool right = true;
    for (size_t i = 0; i < RANGES; i++)
        right &= ranges_give(&set, unit_at(i * STEP % RANGES * 2), UNIT);
    for (size_t i = 0; i < RANGES; i++)
        right &= !ranges_take(&set, (size_t)2 * UNIT, UNIT);
    for (size_t i = 0; i < RANGES; i++)
        right &= ranges_take(&set, UNIT, UNIT) == unit_at(2 * i);
    ck_assert(right);
    ck_assert_int_lt(clock() - start, (clock_t)SECONDS * CLOCKS_PER_SEC);
    ranges_clear(&set);
}
END_TEST

UNIT_MAIN(random_calls_agree_with_a_table, calls_on_many_ranges_take_few_steps)
