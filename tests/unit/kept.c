/* The list of the host's windows that are kept: which of them is offered, how many there are, and
 * that a window that one thread has been offered is not offered to another. */
#include "rma_shm/kept.h"
#include "core/concurrency.h"
#include "tests/unit/unit.h"

static const struct kept_group group = {.ranks = 7, .size = 4, .rank = 2};

static void keep(struct kept_group g, uint64_t number)
{
    ck_assert(kept_reserve(g.ranks));
    kept_add(g, number, (uintptr_t)(1000 + number));
}

static void begin(void)
{
    kept_forget();
    kept_open();
}

START_TEST(the_lowest_number_of_the_group_is_offered)
{
    struct kept_group other = group;
    begin();
    ck_assert_uint_eq(kept_offer(group), 0);
    keep(group, 12);
    keep(group, 11);
    keep(group, 13);
    other.ranks++;
    keep(other, 1);
    other = group;
    other.size++;
    keep(other, 2);
    other = group;
    other.rank++;
    keep(other, 3);
    other = group;
    other.shared = true;
    keep(other, 4);
    ck_assert_uint_eq(kept_offer(group), 11);
    ck_assert_uint_eq(kept_offer(group), 12);
    kept_withdraw(11);
    ck_assert_uint_eq(kept_offer(group), 11);
    ck_assert_uint_eq(kept_take(12), 1012);
    kept_withdraw(12); /* no longer there */
    ck_assert_uint_eq(kept_offer(group), 13);
    ck_assert_uint_eq(kept_offer(group), 0);
    ck_assert_uint_eq(kept_offer(other), 4);
}
END_TEST

START_TEST(the_list_is_limited)
{
    struct kept_group g = group;
    begin();
    for (int i = 0; i < KEPT_PER_GROUP; i++)
        ck_assert(kept_reserve(g.ranks));
    ck_assert(!kept_reserve(g.ranks));
    ck_assert_uint_eq(kept_offer(g), 0);
    kept_add(g, 5, 1005);
    ck_assert(!kept_reserve(g.ranks));
    kept_cancel(g.ranks);
    ck_assert(kept_reserve(g.ranks));
    for (int i = KEPT_PER_GROUP; i < KEPT_MAX; i++, g.ranks += i % KEPT_PER_GROUP == 0) {
        g.ranks += i == KEPT_PER_GROUP;
        ck_assert(kept_reserve(g.ranks));
    }
    g.ranks++;
    ck_assert(!kept_reserve(g.ranks));
    kept_cancel(group.ranks);
    ck_assert(kept_reserve(g.ranks));
}
END_TEST

START_TEST(a_closed_list_offers_and_takes_nothing)
{
    uintptr_t handle;
    begin();
    keep(group, 3);
    keep(group, 2);
    kept_close();
    ck_assert_uint_eq(kept_offer(group), NOT_KEPT);
    kept_withdraw(NOT_KEPT);
    ck_assert(!kept_reserve(group.ranks));
    ck_assert(kept_take_lowest(&handle) && handle == 1002);
    ck_assert(kept_take_lowest(&handle) && handle == 1003);
    ck_assert(!kept_take_lowest(&handle));
    kept_open();
    ck_assert_uint_eq(kept_offer(group), 0);
}
END_TEST

/* ---- threads ---- */

enum { WINDOWS = 3 };

/* How often each window has been offered. Without atomics, so that ThreadSanitizer finds a window
 * that two threads use. */
static uint64_t uses[WINDOWS];
static unsigned rounds;
static _Atomic uint64_t offered;

static void use_windows(unsigned me)
{
    struct chance chance = {me};
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t number = kept_offer(group);
        if (!number)
            continue;
        uint64_t *counter = &uses[number - 1], before = *counter;
        atomic_fetch_add(&offered, 1);
        dawdle(&chance);
        *counter = before + 1;
        if (i % 2) {
            kept_withdraw(number);
        } else {
            uintptr_t handle = kept_take(number);
            EXPECT(handle == 1000 + number);
            EXPECT(kept_reserve(group.ranks));
            kept_add(group, number, handle);
        }
    }
}

START_TEST(a_window_is_offered_to_one_thread_at_a_time)
{
    uint64_t sum = 0;
    begin();
    rounds = effort(5000);
    thread_concurrent = true;
    for (uint64_t i = 1; i <= WINDOWS; i++)
        keep(group, i);
    as_ranks(4, use_windows);
    for (int i = 0; i < WINDOWS; i++)
        sum += uses[i];
    ck_assert_uint_eq(sum, offered);
    for (uint64_t i = 1; i <= WINDOWS; i++)
        ck_assert_uint_eq(kept_offer(group), i);
}
END_TEST

UNIT_MAIN(the_lowest_number_of_the_group_is_offered, the_list_is_limited,
          a_closed_list_offers_and_takes_nothing, a_window_is_offered_to_one_thread_at_a_time)
