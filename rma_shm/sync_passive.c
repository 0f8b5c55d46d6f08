#include "rma_shm/sync_passive.h"

#include "core/concurrency.h"
#include "core/wait_times.h"

static void lock_exclusive(struct win *win, struct sync_word *lock)
{
    struct win_shared *shared = win->shared;
    struct sync_word *all = &shared->lock_all;
    if (UNLIKELY(!atomic_load_explicit(&shared->exclusive_used, memory_order_seq_cst)))
        atomic_store_explicit(&shared->exclusive_used, 1, memory_order_seq_cst);
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
    if (UNLIKELY(peer->lock != WIN_UNLOCKED || !win_may_begin(win)) &&
        (win_passive(win, target) || !win_tolerates(win)))
        return WIN_ERR_SYNC;
    win_end_fence(win);
    if (kind == WIN_EXCLUSIVE)
        lock_exclusive(win, &peer->target->lock);
    else if (kind == WIN_SHARED)
        rwlock_lock_shared(&peer->target->lock, win->rank);
    peer->lock = (uint8_t)kind;
    win_admit(win, peer);
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

/* Wait until each target has been seen without an exclusive lock, and return NULL. If that takes
 * longer than `limit_ns`, returns a lock that is held, and its value in `seen`. */
static struct sync_word *await_no_exclusive(struct win *win, uint64_t limit_ns, uint32_t *seen)
{
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = 0;
    for (uint32_t t = 0; t < win->size; t++) {
        struct sync_word *lock = &win->shared->target[t].lock;
        while ((*seen = atomic_load_explicit(&lock->value, memory_order_seq_cst)) &
               RWLOCK_EXCLUSIVE) {
            uint64_t now = sync_now_ns();
            if (!start)
                start = now;
            else if (now - start > limit_ns)
                return lock;
            sync_wait(&wait, lock, *seen);
        }
    }
    return NULL;
}

static void begin_leniency(struct win *win)
{
    uint32_t seen;
    if (win->uses_leniency)
        return;
    atomic_store_explicit(&win->shared->lenient_used, 1, memory_order_seq_cst);
    await_no_exclusive(win, WITHDRAW_AFTER_NS, &seen);
    win->uses_leniency = true;
}

bool win_use_leniency(struct win *win)
{
    if (win->lenient)
        begin_leniency(win);
    return win->lenient;
}

bool win_use_other_lock(struct win *win)
{
    bool admitted = win_admits_in_locks(win);
    if (admitted)
        begin_leniency(win);
    return admitted;
}

/* Wait until the word has changed, for at most `limit_ns`: the lock may be released and taken again
 * between two loads, which then read the same value. */
static void await_release(struct sync_word *word, uint32_t seen, uint64_t limit_ns)
{
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    while (sync_load(word) == seen && sync_now_ns() - start < limit_ns)
        sync_wait(&wait, word, seen);
}

static void enter_lock_all(struct win *win)
{
    struct win_shared *shared = win->shared;
    uint64_t limit_ns = WITHDRAW_AFTER_NS;
    for (;;) {
        rwlock_lock_shared(&shared->lock_all, win->rank);
        if (LIKELY(!atomic_load_explicit(&shared->exclusive_used, memory_order_seq_cst)))
            return;
        uint32_t seen;
        struct sync_word *held = await_no_exclusive(win, limit_ns, &seen);
        if (LIKELY(!held))
            return;
        rwlock_unlock_shared(&shared->lock_all);
        await_release(held, seen, limit_ns);
        if (limit_ns < WITHDRAW_AFTER_NS_MAX)
            limit_ns *= 2;
    }
}

enum win_error win_lock_all(struct win *win, bool no_check)
{
    if (win_passive_any(win) || (!win_may_begin(win) && !win_tolerates(win)))
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

void win_release_locks(struct win *win)
{
    if (win->epochs & WIN_LOCK_ALL)
        win_unlock_all(win);
    for (uint32_t t = 0; t < win->size; t++)
        if (win->peer[t].lock)
            win_unlock(win, t);
}
