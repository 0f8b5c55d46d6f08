#include "rma_shm/sync_active.h"

#include <assert.h>

enum win_error win_fence(struct win *win, bool no_succeed)
{
    if ((win->epochs || win->exposed || win_passive_any(win)) && !win_tolerates(win))
        return WIN_ERR_SYNC;
    /* After the barrier all ranks see our stores. Its release does not order the non-temporal ones
     * that the program has made. */
    atomic_store_explicit(&win->written, 0, memory_order_relaxed);
    sync_store_fence();
    barrier_wait(&win->barrier);
    win_close_peers(win);
    atomic_store_explicit(&win->fence, no_succeed ? WIN_NO_FENCE : WIN_FENCE_UNUSED,
                          memory_order_relaxed);
    return WIN_OK;
}

enum win_error win_post(struct win *win, const int *origins, uint32_t count)
{
    if (win->exposed)
        return WIN_ERR_SYNC;
    win->exposed = true;
    win->completions_due += count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t origin = (uint32_t)origins[i];
        _Atomic uint32_t *bits = win_post_bits(win, origin);
        /* Orders our earlier stores to the window before the bit: an origin that finds the bit set
         * observes them. */
        uint32_t bit = 1u << win->rank % 32;
        uint32_t before =
            atomic_fetch_or_explicit(&bits[win->rank / 32], bit, memory_order_seq_cst);
        assert(!(before & bit)); /* the origin has completed its epoch for the last post */
        (void)before;
        struct sync_word *posts = &win->peer[origin].target->posts;
        atomic_fetch_add_explicit(&posts->value, 1, memory_order_seq_cst);
        sync_wake(posts);
    }
    return WIN_OK;
}

enum win_error win_start(struct win *win, const int *targets, uint32_t count)
{
    bool may_begin = win_may_begin(win) && !win_passive_any(win);
    if ((win->epochs & WIN_START) || (!may_begin && !win_tolerates(win)))
        return WIN_ERR_SYNC;
    win_end_fence(win);
    win->epochs |= WIN_START;
    win->group_size = count;
    for (uint32_t i = 0; i < count; i++)
        win->group[i] = (uint32_t)targets[i];
    win_close_peers(win);
    return WIN_OK;
}

static void clear_post(struct win *win, uint32_t target)
{
    _Atomic uint32_t *word = &win_post_bits(win, win->rank)[target / 32];
    uint32_t bit = 1u << target % 32;
    uint32_t before = atomic_fetch_and_explicit(word, ~bit, memory_order_relaxed);
    assert(before & bit);
    (void)before;
}

enum win_error win_complete(struct win *win)
{
    if (!(win->epochs & WIN_START))
        return WIN_ERR_SYNC;
    for (uint32_t i = 0; i < win->group_size; i++)
        if (win->peer[win->group[i]].stamp != win->stamp)
            win_await_post(win, win->group[i]);
    for (uint32_t i = 0; i < win->group_size; i++) {
        clear_post(win, win->group[i]);
        /* Release: orders our operations before the increment, so a target that counts us observes
         * them. */
        struct sync_word *completions = &win->peer[win->group[i]].target->completions;
        atomic_fetch_add_explicit(&completions->value, 1, memory_order_seq_cst);
        sync_wake(completions);
    }
    /* Complete our operations before any later access of this rank. */
    if (!SYNC_ATOMICS_FENCE)
        sync_full_fence();
    atomic_store_explicit(&win->written, 0, memory_order_relaxed);
    win->epochs &= (uint8_t)~WIN_START;
    win_close_peers(win);
    return WIN_OK;
}

static bool all_completed(struct win *win, uint32_t *seen)
{
    *seen = sync_load(&win->peer[win->rank].target->completions);
    assert(sync_reached(win->completions_due, *seen)); /* no origin completes twice */
    return sync_reached(*seen, win->completions_due);
}

enum win_error win_wait(struct win *win)
{
    if (!win->exposed)
        return WIN_ERR_SYNC;
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen;
    while (!all_completed(win, &seen))
        sync_wait(&wait, &win->peer[win->rank].target->completions, seen);
    win->exposed = false;
    return WIN_OK;
}

enum win_error win_test(struct win *win, bool *done)
{
    if (!win->exposed)
        return WIN_ERR_SYNC;
    uint32_t seen;
    *done = all_completed(win, &seen);
    if (*done)
        win->exposed = false;
    else
        sync_yield();
    return WIN_OK;
}
