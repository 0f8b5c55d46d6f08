#include "rma_shm/sync_passive.h"

void win_await_post(struct win *win, uint32_t target)
{
    _Atomic uint32_t *word = &win_post_bits(win, win->rank)[target / 32];
    struct sync_word *posts = &win->peer[win->rank].target->posts;
    uint32_t bit = 1u << target % 32;
    struct sync_wait wait = SYNC_WAIT;
    for (;;) {
        uint32_t seen = sync_load(posts);
        if (atomic_load_explicit(word, memory_order_acquire) & bit)
            break;
        sync_wait(&wait, posts, seen);
    }
    win_admit(win, &win->peer[target]);
}

static bool in_group(const struct win *win, uint32_t target)
{
    for (uint32_t i = 0; i < win->group_size; i++)
        if (win->group[i] == target)
            return true;
    return false;
}

COLD enum win_error win_open_peer(struct win *win, uint32_t target)
{
    struct peer *peer = &win->peer[target];
    if ((win->epochs & WIN_START) && in_group(win, target))
        win_await_post(win, target);
    else if (peer->lock)
        ; /* the epoch of another thread has ended and advanced the stamp; this lock is still held
           */
    else if (win_fence_epoch(win) != WIN_NO_FENCE)
        atomic_store_explicit(&win->fence, WIN_FENCE_USED, memory_order_relaxed);
    else if (!(win->epochs & WIN_LOCK_ALL) && !win_use_leniency(win))
        /* The peer stays closed: only while this lock is held is it admitted. */
        return win_use_other_lock(win) ? WIN_OK : WIN_ERR_SYNC;
    win_admit(win, peer);
    return WIN_OK;
}

COLD bool win_tolerates(struct win *win)
{
    if (!win_use_leniency(win))
        return false;
    for (uint32_t i = 0; (win->epochs & WIN_START) && i < win->group_size; i++)
        win_await_post(win, win->group[i]);
    return true;
}
