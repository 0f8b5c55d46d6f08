/* Fence, and post/start/complete/wait: stores become visible to other ranks, ranks that run ahead
 * are matched with the right epoch, and calls out of order are refused. */
#include "tests/unit/endless.h"
#include "tests/unit/windows.h"

static unsigned rounds;

static void begin(unsigned size, bool busy)
{
    sync_configure(busy, NULL);
    create_window(size, 1024, 8);
}

static int64_t *words(unsigned rank)
{
    return (int64_t *)part[rank].base;
}

/* ---- fence ---- */

/* Each rank stores the round at all ranks. No atomics, so that ThreadSanitizer finds violations. */
static void store_between_fences(unsigned me)
{
    struct chance c = {me};
    EXPECT(win_fence(view[me], false) == WIN_OK);
    for (int64_t round = 1; round <= rounds; round++) {
        for (unsigned r = 0; r < unit_ranks.size; r++)
            EXPECT(put_words(me, &round, (int)r, me, 1) == WIN_OK);
        dawdle(&c);
        EXPECT(win_fence(view[me], false) == WIN_OK);
        for (unsigned r = 0; r < unit_ranks.size; r++)
            EXPECT(words(me)[r] == round, "%u: %jd of %u in round %jd", me, (intmax_t)words(me)[r],
                   r, (intmax_t)round);
        dawdle(&c);
        EXPECT(win_fence(view[me], round == rounds) == WIN_OK);
    }
}

START_TEST(stores_before_a_fence_are_visible_after_it)
{
    rounds = effort(200);
    for (unsigned size = 2; size <= 10; size += 4) {
        begin(size, size > 2);
        as_ranks(size, store_between_fences);
        free_window(size);
    }
}
END_TEST

static void fence_nosucceed(unsigned me)
{
    EXPECT(win_fence(view[me], true) == WIN_OK);
}

static void fence(unsigned me)
{
    EXPECT(win_fence(view[me], false) == WIN_OK);
}

/* Any access epoch may replace an unused fence epoch, but not a used one. An exposure epoch leaves
 * both as they are. */
START_TEST(an_unused_fence_epoch_can_be_replaced)
{
    int64_t word = 1;
    begin(2, false);
    as_ranks(2, fence_nosucceed);
    ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_ERR_SYNC);
    as_ranks(2, fence);
    ck_assert(win_idle(view[0]));
    ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_OK);
    ck_assert_int_eq(win_lock(view[0], WIN_SHARED, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock_all(view[0], false), WIN_ERR_SYNC);
    ck_assert_int_eq(win_start(view[0], (int[]){1}, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_post(view[0], NULL, 0), WIN_OK);
    ck_assert_int_eq(put_words(0, &word, 1, 1, 1), WIN_OK);
    ck_assert_int_eq(win_wait(view[0]), WIN_OK);
    ck_assert_int_eq(win_lock(view[1], WIN_SHARED, 0), WIN_OK);
    ck_assert_int_eq(put_words(1, &word, 1, 2, 1), WIN_ERR_SYNC); /* the fence epoch is over */
    ck_assert_int_eq(win_unlock(view[1], 0), WIN_OK);
    ck_assert_int_eq(put_words(1, &word, 0, 2, 1), WIN_ERR_SYNC);
    as_ranks(2, fence);
    ck_assert_int_eq(win_post(view[0], NULL, 0), WIN_OK);
    ck_assert_int_eq(win_fence(view[0], false), WIN_ERR_SYNC);
    ck_assert_int_eq(win_wait(view[0]), WIN_OK);
    ck_assert_int_eq(put_words(0, &word, 1, 2, 1), WIN_OK); /* the fence epoch is still open */
    as_ranks(2, fence);
    ck_assert_int_eq(win_lock_all(view[0], false), WIN_OK);
    ck_assert_int_eq(win_unlock_all(view[0]), WIN_OK);
    ck_assert_int_eq(win_start(view[1], NULL, 0), WIN_OK);
    ck_assert_int_eq(put_words(1, &word, 0, 2, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_complete(view[1]), WIN_OK);
    free_window(2);
}
END_TEST

/* ---- post, start, complete, wait ---- */

/* A ring: each rank is origin for its right neighbour and target of its left one. Only the epochs
 * keep the ranks in step, so some run ahead. */
static void pass_on_around_a_ring(unsigned me)
{
    struct chance c = {me};
    unsigned size = unit_ranks.size;
    int right = (int)((me + 1) % size), left = (int)((me + size - 1) % size);
    for (int64_t round = 1; round <= rounds; round++) {
        EXPECT(win_post(view[me], &left, 1) == WIN_OK);
        dawdle(&c);
        EXPECT(win_start(view[me], &right, 1) == WIN_OK);
        if (below(&c, 2)) /* otherwise win_complete() waits for the post */
            EXPECT(put_words(me, &round, right, 1, 1) == WIN_OK);
        EXPECT(put_words(me, &round, right, 0, 1) == WIN_OK);
        dawdle(&c);
        EXPECT(win_complete(view[me]) == WIN_OK);
        bool done = false;
        if (below(&c, 2))
            for (; !done; sched_yield())
                EXPECT(win_test(view[me], &done) == WIN_OK);
        else
            EXPECT(win_wait(view[me]) == WIN_OK);
        EXPECT(words(me)[0] == round, "%u: %jd in round %jd", me, (intmax_t)words(me)[0],
               (intmax_t)round);
        dawdle(&c);
    }
}

START_TEST(a_ring_passes_data_on)
{
    rounds = effort(600);
    for (unsigned size = 2; size <= 5; size++) {
        begin(size, size > 2);
        as_ranks(size, pass_on_around_a_ring);
        free_window(size);
    }
}
END_TEST

/* Two threads of each rank: one has access epochs, the other exposure epochs. */
static void access_or_expose(unsigned thread)
{
    unsigned me = thread / 2;
    int other = 1 - (int)me;
    struct chance c = {thread};
    for (int64_t round = 1; round <= rounds; round++) {
        if (thread % 2) {
            EXPECT(win_post(view[me], &other, 1) == WIN_OK);
            dawdle(&c);
            EXPECT(win_wait(view[me]) == WIN_OK);
            EXPECT(words(me)[0] >= round);
        } else {
            EXPECT(win_start(view[me], &other, 1) == WIN_OK);
            EXPECT(put_words(me, &round, other, 0, 1) == WIN_OK);
            dawdle(&c);
            EXPECT(win_complete(view[me]) == WIN_OK);
        }
    }
}

START_TEST(access_and_exposure_epochs_of_a_rank_may_be_in_two_threads)
{
    rounds = effort(600);
    begin(2, false);
    as_ranks(2, fence);
    as_ranks(4, access_or_expose);
    free_window(2);
}
END_TEST

/* Is `origin` in an access epoch towards `target` in this round? The same on all ranks. */
static bool is_origin_of(int64_t round, unsigned origin, unsigned target)
{
    struct chance c = {(uint64_t)round * 10007 + origin * 101 + target};
    return any(&c) % 5 < 2;
}

static uint32_t group_of(unsigned me, bool as_target, int64_t round, int *ranks)
{
    uint32_t count = 0;
    for (unsigned r = 0; r < unit_ranks.size; r++)
        if (as_target ? is_origin_of(round, r, me) : is_origin_of(round, me, r))
            ranks[count++] = (int)r;
    return count;
}

/* Random groups, which may be empty or contain the rank itself. A rank that has nothing to do in a
 * round enters the next one at once. */
static void join_random_groups(unsigned me)
{
    int ranks[UNIT_RANKS_MAX];
    struct chance c = {me};
    for (int64_t round = 1; round <= rounds; round++) {
        uint32_t count = group_of(me, true, round, ranks);
        bool exposed = count || below(&c, 2);
        if (exposed)
            EXPECT(win_post(view[me], ranks, count) == WIN_OK);
        uint32_t targets = group_of(me, false, round, ranks);
        EXPECT(win_start(view[me], ranks, targets) == WIN_OK);
        for (uint32_t i = 0; i < targets; i++)
            if (below(&c, 4))
                EXPECT(put_words(me, &round, ranks[i], me, 1) == WIN_OK);
            else {
                int64_t old;
                EXPECT(get_words(me, &old, ranks[i], me, 1) == WIN_OK);
                EXPECT(old < round);
                EXPECT(put_words(me, &round, ranks[i], me, 1) == WIN_OK);
            }
        dawdle(&c);
        EXPECT(win_complete(view[me]) == WIN_OK);
        if (exposed)
            EXPECT(win_wait(view[me]) == WIN_OK);
        for (unsigned r = 0; r < unit_ranks.size; r++)
            EXPECT(!is_origin_of(round, r, me) || words(me)[r] == round,
                   "%u: %jd of %u in round %jd", me, (intmax_t)words(me)[r], r, (intmax_t)round);
        dawdle(&c);
    }
}

START_TEST(random_groups_synchronize_although_some_ranks_run_ahead)
{
    static const unsigned sizes[] = {2, 3, 4, 7, 40}; /* also more than one word of bits */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rounds = effort(sizes[i] > 8 ? 24 : 300);
        begin(sizes[i], true);
        as_ranks(sizes[i], join_random_groups);
        free_window(sizes[i]);
    }
}
END_TEST

START_TEST(counts_of_completions_may_wrap)
{
    rounds = effort(200);
    begin(3, true);
    for (unsigned r = 0; r < 3; r++) {
        atomic_store(&view[0]->peer[r].target->completions.value, UINT32_MAX - 20);
        atomic_store(&view[0]->peer[r].target->posts.value, UINT32_MAX - 20);
        view[r]->completions_due = UINT32_MAX - 20;
    }
    as_ranks(3, pass_on_around_a_ring);
    free_window(3);
    begin(2, true); /* exactly at the wrap */
    bool done = true;
    atomic_store(&view[0]->peer[1].target->completions.value, UINT32_MAX);
    view[1]->completions_due = UINT32_MAX;
    ck_assert_int_eq(win_post(view[1], (int[]){0}, 1), WIN_OK);
    ck_assert_int_eq(win_test(view[1], &done), WIN_OK);
    ck_assert(!done);
    ck_assert_int_eq(win_start(view[0], (int[]){1}, 1), WIN_OK);
    ck_assert_int_eq(win_complete(view[0]), WIN_OK);
    ck_assert_int_eq(win_test(view[1], &done), WIN_OK);
    ck_assert(done);
    free_window(2);
}
END_TEST

/* ---- waiting for posts ---- */

static _Atomic bool posted, completed;

static void start_early(unsigned me)
{
    int64_t word = 5;
    if (me == 0) {
        EXPECT(win_start(view[0], (int[]){1, 2}, 2) == WIN_OK); /* before any post */
        all_here();
        EXPECT(put_words(0, &word, 2, 0, 1) == WIN_OK); /* although rank 1 has not posted */
        EXPECT(!posted);
        all_here();
        EXPECT(win_complete(view[0]) == WIN_OK);
        EXPECT(posted);
    } else if (me == 1) {
        all_here();
        all_here();
        sleep_us(3000);
        atomic_store(&posted, true);
        EXPECT(win_post(view[1], (int[]){0}, 1) == WIN_OK);
        EXPECT(win_wait(view[1]) == WIN_OK);
    } else {
        bool done;
        all_here();
        EXPECT(win_post(view[2], (int[]){0}, 1) == WIN_OK);
        EXPECT(win_test(view[2], &done) == WIN_OK && !done);
        all_here();
        EXPECT(win_wait(view[2]) == WIN_OK);
        EXPECT(posted && words(2)[0] == 5);
    }
}

START_TEST(an_origin_waits_for_a_post_at_its_first_operation)
{
    for (int busy = 0; busy < 2; busy++) {
        begin(3, busy);
        atomic_store(&posted, false);
        as_ranks(3, start_early);
        free_window(3);
    }
}
END_TEST

/* ---- wake-ups ---- */

static void be_late_with_post_and_complete(unsigned me)
{
    struct win_target *origin = view[0]->peer[0].target, *target = view[0]->peer[1].target;
    int64_t word = 9;
    if (me == 0) {
        EXPECT(win_start(view[0], (int[]){1}, 1) == WIN_OK);
        EXPECT(put_words(0, &word, 1, 0, 1) == WIN_OK);
        await_sleeper(&target->completions);
        EXPECT(win_complete(view[0]) == WIN_OK);
    } else {
        await_sleeper(&origin->posts);
        EXPECT(win_post(view[1], (int[]){0}, 1) == WIN_OK);
        EXPECT(win_wait(view[1]) == WIN_OK);
        EXPECT(words(1)[0] == 9);
    }
}

START_TEST(late_ranks_wake_sleepers)
{
    for (int round = 0; round < 5; round++) {
        begin(2, true);
        endless = true;
        as_ranks(2, be_late_with_post_and_complete);
        endless = false;
        free_window(2);
    }
}
END_TEST

/* ---- freeing ---- */

/* Rank 0 frees the shared structure only after all ranks have departed. */
static void leave_late(unsigned me)
{
    if (me == 0) {
        win_depart(view[0]);
        win_free(view[0]);
        atomic_store(&completed, true);
        return;
    }
    struct sync_word *departed = &view[me]->shared->departed;
    sleep_us(3000);
    EXPECT(!completed);
    atomic_fetch_add(&departed->value, 1);
    sync_wake(departed);
}

START_TEST(shared_state_outlives_its_last_user)
{
    begin(3, true);
    atomic_store(&completed, false);
    as_ranks(3, leave_late);
    ck_assert(completed);
    for (unsigned r = 1; r < 3; r++)
        win_free(view[r]);
    for (unsigned r = 0; r < 3; r++)
        ck_assert_int_eq(arena_free(part[r].base), ARENA_FREED);
}
END_TEST

/* A rank that must not wait leaves its memory to those that still use the window; rank 0 keeps the
 * control words as long as others read them. */
START_TEST(lingering_windows_outlive_their_last_user)
{
    begin(3, true);
    for (unsigned r = 0; r < 3; r++)
        view[r]->memory = part[r].base;
    struct win_shared *shared = view[0]->shared;
    win_linger(view[0]);
    win_linger(view[1]);
    win_free_lingering(); /* frees nothing; now rank 0 is listed before rank 1 */
    ck_assert_uint_eq(sync_load(&shared->departed), 2);
    ck_assert_uint_eq(shared->lingering, 1);
    ck_assert(view[1]->memory == part[1].base);
    win_depart(view[2]);
    win_free(view[2]);
    win_free_lingering();
    ck_assert_uint_eq(shared->lingering, 0);
    ck_assert_int_eq(arena_free(part[1].base), ARENA_BAD);
    ck_assert_ptr_eq(view[0]->shared, shared); /* rank 1 was still reading it */
    win_free_lingering();
    ck_assert_int_eq(arena_free(part[0].base), ARENA_BAD);
    ck_assert_int_eq(arena_free(part[2].base), ARENA_BAD);
}
END_TEST

/* Rank 0 frees the window through the library, another rank has given it up. */
START_TEST(lingering_ranks_delay_the_rank_that_frees)
{
    begin(2, true);
    for (unsigned r = 0; r < 2; r++)
        view[r]->memory = part[r].base;
    struct win_shared *shared = view[0]->shared;
    win_linger(view[1]);
    win_depart(view[0]);
    win_free(view[0]);
    ck_assert_uint_eq(shared->lingering, 1);
    ck_assert_ptr_eq(view[0]->shared, shared);
    win_free_lingering();
    win_free_lingering();
    for (unsigned r = 0; r < 2; r++)
        ck_assert_int_eq(arena_free(part[r].base), ARENA_BAD);
}
END_TEST

/* ---- keeping the host's window ---- */

static bool can_keep[UNIT_RANKS_MAX], may_keep[UNIT_RANKS_MAX];

static void answer(unsigned me)
{
    struct chance c = {me + (uint64_t)view[me]->use};
    dawdle(&c);
    may_keep[me] = win_may_keep(view[me], can_keep[me]);
    if (!may_keep[me]) {
        EXPECT(!win_may_keep(view[me], true));
        win_depart(view[me]);
    }
    win_free(view[me]);
}

/* Answer for `view`. All keep the window if all can, unless one of them has been late. */
static void answer_alike(unsigned size)
{
    bool all_can = true;
    for (unsigned r = 0; r < size; r++)
        all_can &= can_keep[r];
    as_ranks(size, answer);
    for (unsigned r = 0; r < size; r++)
        INSIST(may_keep[r] == may_keep[0] && (all_can || !may_keep[r]), "rank %u", r);
}

/* All ranks keep the window or none does, whatever the control words were used for before. Another
 * window is alive meanwhile. */
START_TEST(all_ranks_keep_the_window_or_none_does)
{
    enum { RANKS = 4 };
    struct win *other[RANKS];
    struct chance c = {0};
    for (unsigned i = 0; i < effort(300); i++) {
        begin(RANKS, i % 2);
        memcpy(other, view, sizeof other);
        for (int k = 0; k < 3; k++) {
            if (k < 2)
                create_window_over_parts(RANKS);
            else
                memcpy(view, other, sizeof other);
            for (unsigned r = 0; r < RANKS; r++)
                can_keep[r] = below(&c, 8);
            answer_alike(RANKS);
        }
        for (unsigned r = 0; r < RANKS; r++)
            ck_assert_int_eq(arena_free(part[r].base), ARENA_FREED);
    }
}
END_TEST

/* While rank 1 waits, rank 0 keeps the window and uses its control words for another one, which
 * rank 1 does not keep. `frees_second`: all ranks free that one, too, which then has another rank
 * than rank 1. */
static struct win_shared *first_shared;
static struct win *second[2];
static bool frees_second;

static void use_control_words_again(void)
{
    if (second[0])
        return;
    ck_assert(win_may_keep(view[0], true));
    first_shared = view[0]->shared;
    win_free(view[0]);
    create_window_over_parts(2);
    memcpy(second, view, sizeof second);
    ck_assert_ptr_eq(second[0]->shared, first_shared);
    ck_assert(!win_may_keep(second[1], false));
    ck_assert(!win_may_keep(second[0], true));
    for (int r = 0; r < 2 && frees_second; r++)
        win_depart(second[r]);
    for (int r = 0; r < 2 && frees_second; r++)
        win_free(second[r]);
}

static void keep_first_while_second_is_used(void)
{
    begin(2, false);
    sync_configure(false, use_control_words_again);
    struct win *first = view[1];
    memset(second, 0, sizeof second);
    ck_assert(win_may_keep(first, true));
    ck_assert(second[0] != NULL);
    win_free(first);
    sync_configure(false, NULL);
}

START_TEST(a_late_rank_reads_answers_of_the_next_use)
{
    frees_second = false;
    keep_first_while_second_is_used();
    free_window(2);
}
END_TEST

/* The control words serve further windows, although the last one was not kept. */
START_TEST(a_late_rank_reads_answers_after_the_next_use)
{
    frees_second = true;
    keep_first_while_second_is_used();
    create_window_over_parts(2);
    ck_assert_ptr_eq(view[0]->shared, first_shared);
    can_keep[0] = can_keep[1] = true;
    answer_alike(2);
    ck_assert(may_keep[0]);
}
END_TEST

/* After 100 ms, rank 0 declines for rank 1, which has not answered. */
START_TEST(a_rank_that_does_not_answer_declines)
{
    begin(2, false);
    uint64_t start = sync_now_ns();
    ck_assert(!win_may_keep(view[0], true));
    ck_assert_uint_ge(sync_now_ns() - start, 100000000);
    ck_assert(!win_may_keep(view[1], true));
    free_window(2);
}
END_TEST

/* If another rank declines, rank 0 offers the same control words again with its next offer. */
START_TEST(control_words_of_a_window_that_is_not_made_are_used_again)
{
    struct win_offer offer, before = {0};
    begin(2, false);
    can_keep[0] = can_keep[1] = true;
    as_ranks(2, answer);
    for (int i = 0; i < 3; i++, before = offer) {
        struct win *win = win_prepare(2, 0);
        win_offer(win, part[0].base, 64, 1, REASON_NONE, &offer);
        ck_assert_uint_gt(offer.use, 1);
        ck_assert(!i || (offer.control == before.control && offer.use == before.use));
        win_discard_prepared(win, &offer);
    }
}
END_TEST

/* ---- calls out of order ---- */

START_TEST(calls_out_of_order_are_refused)
{
    int64_t word = 1;
    int one = 1, zero = 0;
    bool done;
    begin(2, false);
    ck_assert_int_eq(win_complete(view[0]), WIN_ERR_SYNC);
    ck_assert_int_eq(win_wait(view[0]), WIN_ERR_SYNC);
    ck_assert_int_eq(win_test(view[0], &done), WIN_ERR_SYNC);
    ck_assert_int_eq(win_post(view[1], &zero, 1), WIN_OK);
    ck_assert_int_eq(win_post(view[1], &zero, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_fence(view[1], false), WIN_ERR_SYNC);
    ck_assert_int_eq(put_words(1, &word, 0, 0, 1),
                     WIN_ERR_SYNC); /* an exposure epoch does not allow access */
    ck_assert(!win_idle(view[1]));
    ck_assert_int_eq(win_start(view[0], &one, 1), WIN_OK);
    ck_assert_int_eq(win_start(view[0], &one, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_fence(view[0], false), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock(view[0], WIN_SHARED, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_lock_all(view[0], false), WIN_ERR_SYNC);
    ck_assert_int_eq(put_words(0, &word, 0, 0, 1),
                     WIN_ERR_SYNC); /* rank 0 may access only its group */
    ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_OK);
    ck_assert(!win_idle(view[0]));
    ck_assert_int_eq(win_test(view[1], &done), WIN_OK);
    ck_assert(!done);
    ck_assert_int_eq(win_complete(view[0]), WIN_OK);
    ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_ERR_SYNC);
    ck_assert_int_eq(win_test(view[1], &done), WIN_OK);
    ck_assert(done);
    ck_assert_int_eq(win_wait(view[1]), WIN_ERR_SYNC);
    ck_assert_int_eq(words(1)[0], 1);
    free_window(2);
}
END_TEST

/* Stamps identify epochs, and they wrap. */
START_TEST(a_peer_of_an_old_epoch_is_not_open_when_stamps_wrap)
{
    int64_t word = 1;
    begin(2, false);
    ck_assert_int_eq(win_lock_all(view[0], false), WIN_OK);
    ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_OK);
    ck_assert_uint_eq(view[0]->peer[1].stamp, 2);
    view[0]->stamp = UINT32_MAX;
    ck_assert_int_eq(win_unlock_all(view[0]), WIN_OK);
    for (uint32_t stamp = 0; stamp < 5; stamp++) {
        ck_assert_int_eq(put_words(0, &word, 1, 0, 1), WIN_ERR_SYNC);
        win_close_peers(view[0]);
    }
    free_window(2);
}
END_TEST

UNIT_MAIN(stores_before_a_fence_are_visible_after_it, an_unused_fence_epoch_can_be_replaced,
          a_ring_passes_data_on, access_and_exposure_epochs_of_a_rank_may_be_in_two_threads,
          random_groups_synchronize_although_some_ranks_run_ahead, counts_of_completions_may_wrap,
          an_origin_waits_for_a_post_at_its_first_operation, late_ranks_wake_sleepers,
          shared_state_outlives_its_last_user, lingering_windows_outlive_their_last_user,
          lingering_ranks_delay_the_rank_that_frees, all_ranks_keep_the_window_or_none_does,
          a_late_rank_reads_answers_of_the_next_use, a_late_rank_reads_answers_after_the_next_use,
          a_rank_that_does_not_answer_declines,
          control_words_of_a_window_that_is_not_made_are_used_again, calls_out_of_order_are_refused,
          a_peer_of_an_old_epoch_is_not_open_when_stamps_wrap)
