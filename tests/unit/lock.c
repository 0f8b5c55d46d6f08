/* The locks in shared memory: mutual exclusion, wake-ups, and absence of starvation. */
#include "core/lock.h"
#include "tests/unit/endless.h"

#include <string.h>

static struct sync_word word;
static unsigned rounds;

/* Protected by the locks. Accessed without atomics, so that ThreadSanitizer finds violations. */
static struct {
    uint64_t a, b;
} guarded;

static void begin(bool busy)
{
    sync_configure(busy, NULL);
    word = (struct sync_word){0};
    guarded.a = guarded.b = 0;
}

static void count_up(struct chance *chance)
{
    uint64_t value = guarded.a;
    guarded.a = value + 1;
    dawdle(chance);
    EXPECT(guarded.b == value);
    guarded.b = value + 1;
}

/* ---- mutex ---- */

static void count_under_mutex(unsigned me)
{
    struct chance chance = {me};
    for (unsigned i = 0; i < rounds; i++) {
        mutex_lock(&word);
        count_up(&chance);
        mutex_unlock(&word);
        dawdle(&chance);
    }
}

START_TEST(a_mutex_excludes_other_ranks)
{
    rounds = effort(2000);
    for (unsigned size = 2; size <= 8; size *= 2)
        for (int busy = 0; busy < 2; busy++) {
            begin(busy);
            as_ranks(size, count_under_mutex);
            ck_assert_uint_eq(guarded.a, (uint64_t)size * rounds);
            ck_assert_uint_eq(word.value, 0);
            ck_assert_uint_eq(word.sleepers, 0);
        }
}
END_TEST

/* ---- rwlock ---- */

static void read_or_write(unsigned me)
{
    struct chance chance = {me};
    for (unsigned i = 0; i < rounds; i++) {
        if (below(&chance, 3) == 0) {
            rwlock_lock_exclusive(&word, me);
            EXPECT(rwlock_valid(word.value) && word.value & RWLOCK_EXCLUSIVE);
            count_up(&chance);
            rwlock_unlock_exclusive(&word);
        } else {
            rwlock_lock_shared(&word, me);
            EXPECT(rwlock_valid(word.value) && word.value & RWLOCK_READERS);
            uint64_t a = guarded.a;
            dawdle(&chance);
            EXPECT(guarded.b == a);
            rwlock_unlock_shared(&word);
        }
        dawdle(&chance);
    }
}

START_TEST(a_writer_excludes_readers_and_writers)
{
    rounds = effort(2000);
    for (unsigned size = 2; size <= 8; size *= 2)
        for (int busy = 0; busy < 2; busy++) {
            begin(busy);
            as_ranks(size, read_or_write);
            ck_assert_uint_eq(guarded.a, guarded.b);
            ck_assert_uint_eq(word.value, 0);
            ck_assert_uint_eq(word.sleepers, 0);
        }
}
END_TEST

START_TEST(readers_share)
{
    begin(false);
    for (unsigned rank = 0; rank < 5; rank++)
        rwlock_lock_shared(&word, rank);
    ck_assert_uint_eq(word.value, 5);
    for (unsigned rank = 0; rank < 5; rank++)
        rwlock_unlock_shared(&word);
    ck_assert_uint_eq(word.value, 0);
    rwlock_lock_exclusive(&word, 0);
    rwlock_unlock_exclusive(&word);
    ck_assert_uint_eq(word.value, 0);
}
END_TEST

/* ---- wake-ups ---- */

typedef void lock_fn(unsigned me);

static void take_mutex(unsigned me)
{
    (void)me;
    mutex_lock(&word);
}

static void drop_mutex(unsigned me)
{
    (void)me;
    mutex_unlock(&word);
}

static void take_exclusive(unsigned me)
{
    rwlock_lock_exclusive(&word, me);
}

static void drop_exclusive(unsigned me)
{
    (void)me;
    rwlock_unlock_exclusive(&word);
}

static void take_shared(unsigned me)
{
    rwlock_lock_shared(&word, me);
}

static void drop_shared(unsigned me)
{
    (void)me;
    rwlock_unlock_shared(&word);
}

static void await_no_readers(unsigned me)
{
    rwlock_await_no_readers(&word, me);
}

static void nothing(unsigned me)
{
    (void)me;
}

static lock_fn *first_takes, *first_drops, *then_takes, *then_drops;

static void one_after_the_other(unsigned me)
{
    if (me == 0) {
        first_takes(me);
        all_here();
        await_sleeper(&word);
        first_drops(me);
    } else {
        all_here();
        then_takes(me);
        then_drops(me);
    }
}

START_TEST(a_release_wakes_sleepers)
{
    static const struct {
        lock_fn *take, *drop, *then, *end;
    } pairs[] = {{take_mutex, drop_mutex, take_mutex, drop_mutex},
                 {take_exclusive, drop_exclusive, take_exclusive, drop_exclusive},
                 {take_exclusive, drop_exclusive, take_shared, drop_shared},
                 {take_shared, drop_shared, take_exclusive, drop_exclusive},
                 {take_shared, drop_shared, await_no_readers, nothing}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int round = 0; round < 5; round++) {
            begin(true);
            endless = true;
            first_takes = pairs[i].take;
            first_drops = pairs[i].drop;
            then_takes = pairs[i].then;
            then_drops = pairs[i].end;
            as_ranks(2, one_after_the_other);
            ck_assert_uint_eq(word.value, 0);
        }
    endless = false;
}
END_TEST

/* Each rank has a processor of its own. Hangs if the waiter does not sleep. */
START_TEST(a_waiter_sleeps_beside_a_thread_that_computes)
{
    begin(false);
    first_takes = then_takes = take_exclusive;
    first_drops = then_drops = drop_exclusive;
    yield_takes_ns = 2000000;
    as_ranks(2, one_after_the_other);
    yield_takes_ns = 0;
    ck_assert_uint_eq(word.value, 0);
}
END_TEST

static void meet_while_locked(unsigned me)
{
    if (me == 0) {
        take_exclusive(me);
        all_here();
        sleep_us(3000);
        drop_exclusive(me);
    } else {
        all_here();
        take_exclusive(me);
        drop_exclusive(me);
    }
}

/* Repeated, since on a busy machine the yields of the waiter may take long. */
START_TEST(a_waiter_with_a_processor_to_itself_does_not_sleep)
{
    unsigned attempts = 0;
    do {
        begin(false);
        futex_waits = 0;
        as_ranks(2, meet_while_locked);
    } while (futex_waits && ++attempts < 200);
    ck_assert_uint_eq(futex_waits, 0);
}
END_TEST

/* ---- starvation ---- */

static _Atomic bool over;
static uint64_t start_ns, longest_ns;
static unsigned hold_us;

static bool too_long(void)
{
    return sync_now_ns() - start_ns > UINT64_C(15000000000);
}

/* The last rank writes now and then. The others read, without a moment in which none of them does.
 */
static void stream_of_readers(unsigned me)
{
    if (me < unit_ranks.size - 1) {
        while (!atomic_load(&over) && !too_long()) {
            rwlock_lock_shared(&word, me);
            sleep_us(hold_us);
            rwlock_unlock_shared(&word);
        }
        return;
    }
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t start = sync_now_ns();
        rwlock_lock_exclusive(&word, me);
        uint64_t waited = sync_now_ns() - start;
        longest_ns = waited > longest_ns ? waited : longest_ns;
        rwlock_unlock_exclusive(&word);
        sleep_us(1000);
    }
    atomic_store(&over, true);
}

START_TEST(readers_do_not_starve_a_writer)
{
    rounds = effort(20);
    hold_us = 300;
    for (int busy = 0; busy < 2; busy++) {
        begin(busy);
        longest_ns = 0;
        start_ns = sync_now_ns();
        atomic_store(&over, false);
        as_ranks(8, stream_of_readers);
        ck_assert_uint_lt(longest_ns, 5000000000);
    }
}
END_TEST

/* Protected by the lock: turns per rank, turns in total, and how often the lock passed to its
 * claimant. */
static unsigned turns[4], all_turns, handed_over;
static uint32_t next_claim;

/* Called with the lock held. The number of turns per rank depends on the scheduler; the order of
 * turns depends on the lock. */
static bool take_a_turn(unsigned me)
{
    EXPECT(!next_claim || next_claim == (me + 1) << 16);
    handed_over += next_claim != 0;
    turns[me]++;
    all_turns++;
    spin_ns(200 * 1000);
    next_claim = word.value & RWLOCK_CLAIM;
    unsigned least = all_turns;
    for (int r = 0; r < 4; r++)
        least = turns[r] < least ? turns[r] : least;
    return (all_turns < rounds || !least) && !too_long();
}

/* Each rank takes the lock again as soon as it has released it. */
static void greedy_writer(unsigned me)
{
    for (bool more = true; more;) {
        rwlock_lock_exclusive(&word, me);
        more = take_a_turn(me);
        rwlock_unlock_exclusive(&word);
    }
}

START_TEST(writers_do_not_starve_each_other)
{
    rounds = effort(600);
    for (int busy = 0; busy < 2; busy++) {
        begin(busy);
        memset(turns, 0, sizeof turns);
        all_turns = handed_over = next_claim = 0;
        start_ns = sync_now_ns();
        as_ranks(4, greedy_writer);
        ck_assert_uint_gt(handed_over, 0);
        for (int r = 0; r < 4; r++)
            ck_assert_uint_gt(turns[r], 0);
    }
}
END_TEST

/* ---- deadlock ---- */

static void await_value(uint32_t mask, uint32_t value)
{
    while ((atomic_load(&word.value) & mask) != value)
        sleep_us(100);
}

/* A program in which the second reader must proceed before the first one releases the lock. */
static void need_a_second_reader(unsigned me)
{
    if (me == 0) {
        rwlock_lock_shared(&word, me);
        all_here();
        while (!atomic_load(&over))
            sleep_us(100);
        rwlock_unlock_shared(&word);
        return;
    }
    all_here();
    if (me == 1) {
        rwlock_lock_exclusive(&word, me);
        guarded.a++;
        rwlock_unlock_exclusive(&word);
    } else {
        await_value(RWLOCK_CLAIM, 2u << 16);
        rwlock_lock_shared(&word, me);
        EXPECT(guarded.a == 0);
        EXPECT((word.value & RWLOCK_READERS) == 2);
        atomic_store(&over, true);
        rwlock_unlock_shared(&word);
    }
}

START_TEST(a_reader_finally_ignores_a_claim)
{
    for (int busy = 0; busy < 2; busy++) {
        begin(busy);
        atomic_store(&over, false);
        as_ranks(3, need_a_second_reader);
        ck_assert_uint_eq(word.value, 0);
        ck_assert_uint_eq(guarded.a, 1);
    }
}
END_TEST

static _Atomic unsigned gone;

/* Rank 0 waits until the lock has no readers, without acquiring it. */
static void release_one_by_one(unsigned me)
{
    if (me > 0)
        rwlock_lock_shared(&word, me);
    all_here();
    if (me > 0) {
        sleep_us(me * 1000);
        atomic_fetch_add(&gone, 1);
        rwlock_unlock_shared(&word);
    } else {
        rwlock_await_no_readers(&word, me);
        EXPECT(atomic_load(&gone) == unit_ranks.size - 1);
    }
}

START_TEST(waiting_for_readers_removes_its_claim)
{
    for (int busy = 0; busy < 2; busy++)
        for (unsigned round = 0; round < effort(20); round++) {
            begin(busy);
            atomic_store(&gone, 0);
            as_ranks(5, release_one_by_one);
            ck_assert_uint_eq(word.value, 0);
            ck_assert_uint_eq(word.sleepers, 0);
        }
}
END_TEST

UNIT_MAIN(a_mutex_excludes_other_ranks, a_writer_excludes_readers_and_writers, readers_share,
          a_release_wakes_sleepers, a_waiter_sleeps_beside_a_thread_that_computes,
          a_waiter_with_a_processor_to_itself_does_not_sleep, readers_do_not_starve_a_writer,
          writers_do_not_starve_each_other, a_reader_finally_ignores_a_claim,
          waiting_for_readers_removes_its_claim)
