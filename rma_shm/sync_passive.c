#include "rma_shm/sync_passive.h"

#include "core/concurrency.h"

static void lock_exclusive(struct win *win, struct sync_word *lock)
{
    struct sync_word *all = &win->shared->lock_all;
    for (;;) {
        rwlock_lock_exclusive(lock, win->rank);
        uint32_t seen = atomic_load_explicit(&all->value, memory_order_seq_cst);
        if (LIKELY(!(seen & RWLOCK_READERS)))
            return;
        rwlock_unlock_exclusive(lock);
        rwlock_await_no_readers(all, win->rank);
    }
}

enum win_error win_lock(struct win *win, enum win_lock kind, uint32_t target)
{
    struct peer *peer = &win->peer[target];
    if (UNLIKELY(peer->lock != WIN_UNLOCKED || !win_may_begin(win)))
        return WIN_ERR_SYNC;
    win_end_fence(win);
    if (kind == WIN_EXCLUSIVE)
        lock_exclusive(win, &peer->target->lock);
    else if (kind == WIN_SHARED)
        rwlock_lock_shared(&peer->target->lock, win->rank);
    peer->lock = (uint8_t)kind;
    peer->stamp = win->stamp;
    counter_add(&win->locked, 1);
    return WIN_OK;
}

enum win_error win_unlock(struct win *win, uint32_t target)
{
    struct peer *peer = &win->peer[target];
    enum win_lock kind = (enum win_lock)peer->lock;
    if (UNLIKELY(kind == WIN_UNLOCKED))
        return WIN_ERR_SYNC;
    peer->lock = WIN_UNLOCKED;
    peer->stamp = 0;
    counter_add(&win->locked, (uint64_t)-1);
    /* Releasing is a full fence: orders our stores before the release, so the next holder observes
     * them. */
    if (kind == WIN_EXCLUSIVE)
        rwlock_unlock_exclusive(&peer->target->lock);
    else if (kind == WIN_SHARED)
        rwlock_unlock_shared(&peer->target->lock);
    else
        sync_full_fence();
    return WIN_OK;
}

/* When lock_all returns, nobody may hold our own memory exclusively: the program also accesses it
 * by loads and stores, which never call win_open_peer(). While we wait for a holder, we leave
 * `lock_all`, so that the holder can lock other targets too. */
static void enter_lock_all(struct win *win)
{
    struct sync_word *all = &win->shared->lock_all, *own = &win->peer[win->rank].target->lock;
    for (;;) {
        rwlock_lock_shared(all, win->rank);
        uint32_t seen = atomic_load_explicit(&own->value, memory_order_seq_cst);
        if (LIKELY(!(seen & RWLOCK_EXCLUSIVE)))
            return;
        rwlock_unlock_shared(all);
        win_await_no_exclusive(own);
    }
}

enum win_error win_lock_all(struct win *win, bool no_check)
{
    if (!win_may_begin(win) || win_passive_any(win))
        return WIN_ERR_SYNC;
    win_end_fence(win);
    if (!no_check)
        enter_lock_all(win);
    win->epochs |= no_check ? WIN_LOCK_ALL | WIN_UNCHECKED : WIN_LOCK_ALL;
    win_close_peers(win);
    return WIN_OK;
}

enum win_error win_unlock_all(struct win *win)
{
    if (!(win->epochs & WIN_LOCK_ALL))
        return WIN_ERR_SYNC;
    bool unchecked = win->epochs & WIN_UNCHECKED;
    win->epochs &= (uint8_t) ~(WIN_LOCK_ALL | WIN_UNCHECKED);
    win_close_peers(win);
    if (unchecked)
        sync_full_fence();
    else
        rwlock_unlock_shared(&win->shared->lock_all);
    return WIN_OK;
}
