/* Lock, unlock and lock_all: exclusion, refused calls, and absence of starvation. Targets take no
 * part: passive target communication completes while the target does something else. */
#include "tests/unit/endless.h"
#include "tests/unit/windows.h"

static unsigned rounds;

static void begin(unsigned size, bool busy)
{
    sync_configure(busy, NULL);
    create_window(size, 4096, 8);
}

/* ---- refused calls change nothing ---- */

START_TEST(locks_of_one_rank_obey_the_rules)
{
    begin(3, false);
    struct win *win = view[0];
    for (enum win_lock kind = WIN_SHARED; kind <= WIN_NOCHECK; kind++) {
        ck_assert_int_eq(win_unlock(win, 1), WIN_ERR_SYNC);
        ck_assert_int_eq(win_lock(win, kind, 1), WIN_OK);
        ck_assert_int_eq(win_lock(win, kind, 1), WIN_ERR_SYNC);
        ck_assert_int_eq(win_lock_all(win, false), WIN_ERR_SYNC);
        ck_assert_int_eq(win_unlock_all(win), WIN_ERR_SYNC);
        ck_assert_int_eq(win_fence(win, false), WIN_ERR_SYNC);
        ck_assert_int_eq(win_start(win, (int[]){2}, 1), WIN_ERR_SYNC);
        ck_assert(win_passive(win, 1) && !win_passive(win, 2) && !win_idle(win));
        ck_assert_int_eq(win_lock(win, kind, 2), WIN_OK);
        ck_assert_int_eq(win_unlock(win, 1), WIN_OK);
        ck_assert(win_passive_any(win) && win_passive(win, 2) && !win_passive(win, 1));
        ck_assert_int_eq(win_unlock(win, 2), WIN_OK);
        ck_assert(win_idle(win) && !win_passive_any(win));
    }
    for (int no_check = 0; no_check < 2; no_check++) {
        ck_assert_int_eq(win_unlock_all(win), WIN_ERR_SYNC);
        ck_assert_int_eq(win_lock_all(win, no_check), WIN_OK);
        ck_assert_int_eq(win_lock_all(win, no_check), WIN_ERR_SYNC);
        ck_assert_int_eq(win_lock(win, WIN_SHARED, 1), WIN_ERR_SYNC);
        ck_assert_int_eq(win_unlock(win, 1), WIN_ERR_SYNC);
        ck_assert_int_eq(win_fence(win, false), WIN_ERR_SYNC);
        ck_assert(win_passive(win, 1) && !win_idle(win));
        ck_assert_int_eq(win_unlock_all(win), WIN_OK);
        ck_assert(win_idle(win));
    }
    for (unsigned r = 0; r < 3; r++)
        ck_assert_uint_eq(view[0]->peer[r].target->lock.value, 0);
    ck_assert_uint_eq(view[0]->shared->lock_all.value, 0);
    free_window(3);
}
END_TEST

START_TEST(a_lenient_window_admits_what_its_host_admits)
{
    int64_t word = 1;
    begin(3, false);
    struct win *win = view[0];
    win->lenient = true;
    ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_OK);
    ck_assert_int_eq(win_unlock(win, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_unlock_all(win), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock(win, WIN_EXCLUSIVE, 1), WIN_OK);
    ck_assert_int_eq(win_lock(win, WIN_SHARED, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock_all(win, false), WIN_ERR_SYNC);
    ck_assert_int_eq(put_words(0, &word, 2, 0, 1), WIN_OK);
    ck_assert_int_eq(win_start(win, NULL, 0), WIN_OK);
    ck_assert_int_eq(win_start(win, NULL, 0), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock(win, WIN_SHARED, 2), WIN_OK);
    win_release_locks(win);
    ck_assert_int_eq(win_lock_all(win, false), WIN_OK);
    ck_assert_int_eq(win_lock_all(win, false), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock(win, WIN_SHARED, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_complete(win), WIN_OK);
    win_release_locks(win);
    ck_assert(win_idle(win));
    for (unsigned r = 0; r < 3; r++)
        ck_assert_uint_eq(win->peer[r].target->lock.value, 0);
    ck_assert_uint_eq(win->shared->lock_all.value, 0);
    free_window(3);
}
END_TEST

START_TEST(a_lock_may_admit_operations_on_all_targets)
{
    int64_t word = 1;
    begin(3, false);
    struct win *win = view[0];
    win->lenient_in_locks = true;
    ck_assert_int_eq(put_words(0, &word, 2, 0, 1), WIN_ERR_SYNC);
    for (enum win_lock kind = WIN_SHARED; kind <= WIN_NOCHECK; kind++) {
        ck_assert_int_eq(win_lock(win, kind, 1), WIN_OK);
        ck_assert_int_eq(put_words(0, &word, 2, 0, 1), WIN_OK);
        ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_OK);
        ck_assert_int_eq(win_unlock(win, 2), WIN_ERR_SYNC);
        ck_assert_int_eq(win_lock_all(win, false), WIN_ERR_SYNC);
        ck_assert_int_eq(win_start(win, (int[]){2}, 1), WIN_ERR_SYNC);
        ck_assert_int_eq(win_fence(win, false), WIN_ERR_SYNC);
        ck_assert_int_eq(win_unlock(win, 1), WIN_OK);
        ck_assert_int_eq(put_words(0, &word, 2, 0, 1), WIN_ERR_SYNC);
    }
    ck_assert_uint_eq(view[1]->shared->lenient_used, 1); /* accumulates of all ranks use atomics */
    free_window(3);
}
END_TEST

START_TEST(nocheck_waits_for_nobody)
{
    int64_t word = 1;
    begin(3, false);
    ck_assert_int_eq(win_lock(view[1], WIN_EXCLUSIVE, 0), WIN_OK);
    ck_assert_int_eq(win_lock(view[0], WIN_NOCHECK, 0), WIN_OK);
    ck_assert_int_eq(put_words(0, &word, 0, 0, 1), WIN_OK);
    ck_assert_int_eq(win_lock_all(view[2], true), WIN_OK);
    ck_assert_int_eq(put_words(2, &word, 0, 1, 1), WIN_OK);
    ck_assert_int_eq(win_unlock_all(view[2]), WIN_OK);
    ck_assert_int_eq(win_unlock(view[0], 0), WIN_OK);
    ck_assert_uint_eq(view[0]->peer[0].target->lock.value, RWLOCK_EXCLUSIVE);
    ck_assert_int_eq(win_unlock(view[1], 0), WIN_OK);
    free_window(3);
}
END_TEST

/* ---- exclusion ---- */

/* Two words that differ while a writer holds the lock. No atomics, so that ThreadSanitizer finds
 * violations. */
static void write_pair(unsigned me, unsigned target, struct chance *c)
{
    int64_t a, b;
    EXPECT(win_lock(view[me], WIN_EXCLUSIVE, target) == WIN_OK);
    get_words(me, &a, (int)target, 0, 1);
    a++;
    put_words(me, &a, (int)target, 0, 1);
    dawdle(c);
    get_words(me, &b, (int)target, 100, 1);
    EXPECT(b == a - 1, "%jd, %jd", (intmax_t)a, (intmax_t)b);
    put_words(me, &a, (int)target, 100, 1);
    EXPECT(win_unlock(view[me], target) == WIN_OK);
}

static void read_pair(unsigned me, unsigned target, struct chance *c)
{
    int64_t a, b;
    get_words(me, &a, (int)target, 0, 1);
    dawdle(c);
    get_words(me, &b, (int)target, 100, 1);
    EXPECT(b == a, "%jd, %jd", (intmax_t)a, (intmax_t)b);
}

static _Atomic int64_t written[UNIT_RANKS_MAX];

/* No pair changes during a lock_all epoch, even if its target is first accessed late in it. */
static void read_in_lock_all(unsigned me, struct chance *c)
{
    unsigned target = below(c, 2);
    int64_t first, last;
    EXPECT(win_lock_all(view[me], false) == WIN_OK);
    const int64_t *own = (const int64_t *)part[me].base;
    int64_t before = own[0];
    get_words(me, &first, (int)target, 0, 1);
    for (unsigned n = below(c, 3); n; n--)
        read_pair(me, n % 2, c);
    get_words(me, &last, (int)target, 100, 1);
    EXPECT(first == last, "%jd, %jd", (intmax_t)first, (intmax_t)last);
    EXPECT(own[100] == before, "%jd, %jd", (intmax_t)before, (intmax_t)own[100]);
    EXPECT(win_unlock_all(view[me]) == WIN_OK);
}

/* All kinds of lock on two targets. */
static void lock_in_every_way(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 0; i < rounds; i++) {
        unsigned target = below(&c, 2);
        switch (below(&c, 5)) {
        case 0:
            EXPECT(win_lock(view[me], WIN_SHARED, target) == WIN_OK);
            read_pair(me, target, &c);
            EXPECT(win_unlock(view[me], target) == WIN_OK);
            break;
        case 1:
            read_in_lock_all(me, &c);
            break;
        case 2:
            /* Two locks, in rank order. */
            EXPECT(win_lock(view[me], target ? WIN_SHARED : WIN_EXCLUSIVE, 0) == WIN_OK);
            write_pair(me, 1, &c);
            EXPECT(win_unlock(view[me], 0) == WIN_OK);
            written[1]++;
            break;
        default:
            write_pair(me, target, &c);
            written[target]++;
        }
        dawdle(&c);
    }
}

START_TEST(an_exclusive_lock_excludes_every_other)
{
    rounds = effort(800);
    for (unsigned size = 2; size <= 6; size += 2)
        for (int busy = 0; busy < 2; busy++) {
            begin(size, busy);
            written[0] = written[1] = 0;
            as_ranks(size, lock_in_every_way);
            for (unsigned t = 0; t < 2; t++) {
                ck_assert_int_eq(((int64_t *)part[t].base)[0], written[t]);
                ck_assert_uint_eq(view[0]->peer[t].target->lock.value, 0);
            }
            ck_assert_uint_eq(view[0]->shared->lock_all.value, 0);
            free_window(size);
        }
}
END_TEST

START_TEST(shared_locks_share)
{
    int64_t word;
    begin(4, false);
    for (unsigned r = 0; r < 2; r++)
        ck_assert_int_eq(win_lock(view[r], WIN_SHARED, 3), WIN_OK);
    for (unsigned r = 2; r < 4; r++)
        ck_assert_int_eq(win_lock_all(view[r], false), WIN_OK);
    for (unsigned r = 0; r < 4; r++)
        ck_assert_int_eq(get_words(r, &word, 3, 0, 1), WIN_OK);
    for (unsigned r = 0; r < 2; r++)
        ck_assert_int_eq(win_unlock(view[r], 3), WIN_OK);
    for (unsigned r = 2; r < 4; r++)
        ck_assert_int_eq(win_unlock_all(view[r]), WIN_OK);
    free_window(4);
}
END_TEST

/* Locks on different targets are independent. */
START_TEST(an_exclusive_lock_is_on_one_target)
{
    begin(4, false);
    for (unsigned r = 0; r < 4; r++)
        ck_assert_int_eq(win_lock(view[r], WIN_EXCLUSIVE, 3 - r), WIN_OK);
    for (unsigned r = 0; r < 4; r++)
        ck_assert_int_eq(win_unlock(view[r], 3 - r), WIN_OK);
    free_window(4);
}
END_TEST

/* ---- a waiting writer ---- */

static _Atomic bool over;

/* Rank 1 requests an exclusive lock on target 2 while rank 0 is in lock_all. While it waits it must
 * not hold the lock of the target, since the first operation of rank 0 on target 2 would wait for
 * it. */
static void operate_while_a_writer_waits(unsigned me)
{
    int64_t word = 7;
    if (me == 0) {
        EXPECT(win_lock_all(view[0], false) == WIN_OK);
        all_here();
        sleep_us(5000);
        EXPECT(put_words(0, &word, 2, 0, 1) == WIN_OK);
        EXPECT(win_unlock_all(view[0]) == WIN_OK);
    } else {
        all_here();
        EXPECT(win_lock(view[1], WIN_EXCLUSIVE, 2) == WIN_OK);
        get_words(1, &word, 2, 0, 1);
        EXPECT(word == 7);
        EXPECT(win_unlock(view[1], 2) == WIN_OK);
    }
}

START_TEST(a_writer_waiting_for_lock_all_blocks_nobody)
{
    for (int busy = 0; busy < 2; busy++)
        for (int i = 0; i < 3; i++) {
            begin(3, busy);
            as_ranks(2, operate_while_a_writer_waits);
            ck_assert_uint_eq(view[0]->shared->lock_all.value, 0);
            free_window(3);
        }
}
END_TEST

/* ---- several locks in rank order, during lock_all of another rank ---- */

static _Atomic bool released;

/* Rank 0 locks target 1, then target 2, while rank 2 is waiting in lock_all. */
static void lock_two_targets(unsigned me)
{
    if (me == 0) {
        EXPECT(win_lock(view[0], WIN_EXCLUSIVE, 1) == WIN_OK);
        all_here();
        sleep_us(1000);
        EXPECT(win_lock(view[0], WIN_EXCLUSIVE, 2) == WIN_OK);
        EXPECT(win_unlock(view[0], 1) == WIN_OK);
        sleep_us(1000);
        released = true;
        EXPECT(win_unlock(view[0], 2) == WIN_OK);
    } else if (me == 2) {
        all_here();
        EXPECT(win_lock_all(view[2], false) == WIN_OK);
        EXPECT(released);
        EXPECT(win_unlock_all(view[2]) == WIN_OK);
    } else
        all_here();
}

/* Rank 0 holds target 1 and requests target 2, for which rank 1 has a shared lock. Rank 1 requests
 * target 3. Rank 2, which is waiting in lock_all for target 1, lets rank 1 pass. */
static void lock_behind_a_shared_lock(unsigned me)
{
    if (me < 2)
        EXPECT(win_lock(view[me], me ? WIN_SHARED : WIN_EXCLUSIVE, me + 1) == WIN_OK);
    all_here();
    if (me == 2) {
        EXPECT(win_lock_all(view[2], false) == WIN_OK);
        EXPECT(released);
        EXPECT(win_unlock_all(view[2]) == WIN_OK);
        return;
    }
    sleep_us(1000);
    EXPECT(win_lock(view[me], WIN_EXCLUSIVE, me + 2) == WIN_OK);
    EXPECT(win_unlock(view[me], me + 2) == WIN_OK);
    if (me == 0)
        released = true;
    EXPECT(win_unlock(view[me], me + 1) == WIN_OK);
}

START_TEST(locks_in_rank_order_pass_lock_all)
{
    for (int busy = 0; busy < 2; busy++)
        for (int i = 0; i < 6; i++) {
            begin(4, busy);
            released = false;
            as_ranks(3, i % 2 ? lock_two_targets : lock_behind_a_shared_lock);
            ck_assert_uint_eq(view[0]->shared->lock_all.value, 0);
            free_window(4);
        }
}
END_TEST

/* ---- starvation ---- */

static uint64_t start_ns;

static bool too_long(void)
{
    return sync_now_ns() - start_ns > UINT64_C(20000000000);
}

/* The last rank writes now and then; the others enter and leave lock_all without a pause. */
static void stream_of_lock_all(unsigned me)
{
    int64_t word = 1;
    if (me < unit_ranks.size - 1) {
        while (!over && !too_long()) {
            EXPECT(win_lock_all(view[me], false) == WIN_OK);
            sleep_us(200);
            EXPECT(put_words(me, &word, 0, me, 1) == WIN_OK);
            EXPECT(win_unlock_all(view[me]) == WIN_OK);
        }
        return;
    }
    for (unsigned i = 0; i < rounds && !too_long(); i++) {
        EXPECT(win_lock(view[me], WIN_EXCLUSIVE, 0) == WIN_OK);
        EXPECT(win_unlock(view[me], 0) == WIN_OK);
    }
    over = true;
}

START_TEST(lock_all_does_not_starve_a_writer)
{
    rounds = 10;
    for (int busy = 0; busy < 2; busy++) {
        begin(6, busy);
        over = false;
        start_ns = sync_now_ns();
        as_ranks(6, stream_of_lock_all);
        ck_assert(!too_long());
        free_window(6);
    }
}
END_TEST

/* The last rank enters and leaves lock_all; the others write to the same target without a pause. */
static void stream_of_writers(unsigned me)
{
    int64_t word = 1;
    if (me < unit_ranks.size - 1) {
        while (!over && !too_long()) {
            EXPECT(win_lock(view[me], WIN_EXCLUSIVE, 0) == WIN_OK);
            spin_ns(100 * 1000);
            EXPECT(win_unlock(view[me], 0) == WIN_OK);
        }
        return;
    }
    for (unsigned i = 0; i < rounds && !too_long(); i++) {
        EXPECT(win_lock_all(view[me], false) == WIN_OK);
        EXPECT(put_words(me, &word, 0, 0, 1) == WIN_OK);
        EXPECT(win_unlock_all(view[me]) == WIN_OK);
    }
    over = true;
}

START_TEST(writers_do_not_starve_lock_all)
{
    rounds = 10;
    for (int busy = 0; busy < 2; busy++) {
        begin(4, busy);
        over = false;
        start_ns = sync_now_ns();
        as_ranks(4, stream_of_writers);
        ck_assert(!too_long());
        free_window(4);
    }
}
END_TEST

/* The last rank calls lock_all a few times; the others hold targets of their own for a long time,
 * again and again. The targets are never all free at once, so lock_all has to hold back the next
 * locks until the last target is released. */
static void long_exclusive_locks(unsigned me)
{
    static const unsigned held_us[] = {20000, 50000, 110000};
    if (me == unit_ranks.size - 1) {
        for (int i = 0; i < 5 && !too_long(); i++) {
            sleep_us(10000);
            EXPECT(win_lock_all(view[me], false) == WIN_OK);
            EXPECT(win_unlock_all(view[me]) == WIN_OK);
        }
        over = true;
    }
    while (!over && !too_long()) {
        EXPECT(win_lock(view[me], WIN_EXCLUSIVE, me) == WIN_OK);
        sleep_us(held_us[me]);
        EXPECT(win_unlock(view[me], me) == WIN_OK);
    }
}

START_TEST(long_exclusive_locks_do_not_starve_lock_all)
{
    begin(4, true);
    over = false;
    start_ns = sync_now_ns();
    as_ranks(4, long_exclusive_locks);
    ck_assert(!too_long());
    free_window(4);
}
END_TEST

/* ---- wake-ups ---- */

static enum win_lock first_kind, then_kind; /* WIN_UNLOCKED stands for lock_all */

static struct sync_word *word_of(enum win_lock kind)
{
    return kind ? &view[0]->peer[2].target->lock : &view[0]->shared->lock_all;
}

static void take(unsigned me, enum win_lock kind)
{
    int64_t word = me;
    EXPECT((kind ? win_lock(view[me], kind, 2) : win_lock_all(view[me], false)) == WIN_OK);
    EXPECT(put_words(me, &word, 2, me, 1) == WIN_OK);
}

static void drop(unsigned me, enum win_lock kind)
{
    EXPECT((kind ? win_unlock(view[me], 2) : win_unlock_all(view[me])) == WIN_OK);
}

static void one_after_the_other(unsigned me)
{
    if (me == 0) {
        take(me, first_kind);
        all_here();
        await_sleeper(word_of(first_kind));
        drop(me, first_kind);
    } else {
        all_here();
        take(me, then_kind);
        drop(me, then_kind);
    }
}

START_TEST(a_release_wakes_sleepers)
{
    static const enum win_lock pairs[][2] = {{WIN_EXCLUSIVE, WIN_EXCLUSIVE},
                                             {WIN_EXCLUSIVE, WIN_SHARED},
                                             {WIN_SHARED, WIN_EXCLUSIVE},
                                             {WIN_EXCLUSIVE, WIN_UNLOCKED},
                                             {WIN_UNLOCKED, WIN_EXCLUSIVE}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        begin(3, true);
        endless = true;
        first_kind = pairs[i][0];
        then_kind = pairs[i][1];
        as_ranks(2, one_after_the_other);
        endless = false;
        free_window(3);
    }
}
END_TEST

/* ---- threads of one rank ---- */

/* Each thread of rank 0 uses its own target: one view, several threads. */
static void lock_own_target(unsigned me)
{
    int64_t word;
    for (unsigned i = 0; i < rounds; i++) {
        EXPECT(win_lock(view[0], WIN_EXCLUSIVE, me) == WIN_OK);
        EXPECT(get_words(0, &word, (int)me, 0, 1) == WIN_OK);
        word++;
        EXPECT(put_words(0, &word, (int)me, 0, 1) == WIN_OK);
        EXPECT(win_unlock(view[0], me) == WIN_OK);
    }
}

START_TEST(threads_of_a_rank_lock_different_targets)
{
    begin(4, false);
    rounds = effort(20000);
    as_ranks(4, lock_own_target);
    for (unsigned t = 0; t < 4; t++)
        ck_assert_int_eq(((int64_t *)part[t].base)[0], rounds);
    free_window(4);
}
END_TEST

UNIT_MAIN(locks_of_one_rank_obey_the_rules, a_lenient_window_admits_what_its_host_admits,
          a_lock_may_admit_operations_on_all_targets, nocheck_waits_for_nobody,
          an_exclusive_lock_excludes_every_other, shared_locks_share,
          an_exclusive_lock_is_on_one_target, a_writer_waiting_for_lock_all_blocks_nobody,
          locks_in_rank_order_pass_lock_all, lock_all_does_not_starve_a_writer,
          writers_do_not_starve_lock_all, long_exclusive_locks_do_not_starve_lock_all,
          a_release_wakes_sleepers, threads_of_a_rank_lock_different_targets)
