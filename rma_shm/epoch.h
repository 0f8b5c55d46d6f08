/* What all kinds of epoch share: whether one may begin, and the check of the first operation on a
 * peer. Stamps and epochs are described in win.h, the protocols in sync_active.h and
 * sync_passive.h.
 *
 * Lenient windows. Some hosts do not check epochs in windows whose memory they allocate
 * (QUIRK_UNCHECKED_EPOCHS), and programs with such an error run there. In a lenient window
 *
 *   operations and flushes  are admitted at any time
 *   a fence                 may be called inside other epochs, and does not end them
 *   epochs                  may begin beside those of other kinds, such as a lock in the epoch of a
 *                           start or of a fence
 *   freeing the window      releases all locks
 *
 * Still refused are a lock of a locked target, ending an epoch that is not open, and a second epoch
 * of start or post.
 *
 * Other hosts do not check which target is locked (QUIRK_LOCK_ADMITS_ALL). In a window that is
 * lenient in locks, operations and flushes are admitted on all targets while any target is locked.
 *
 * Only branches that would report an error read these flags. */
#ifndef MPIACCEL_EPOCH_H
#define MPIACCEL_EPOCH_H

#include "rma_shm/win.h"

#include <assert.h>

/* Call before the first operation on a target in an epoch. Waits for the post of the target, if
 * win_start() opened the epoch. WIN_ERR_SYNC: the epoch does not admit the operation. */
enum win_error win_open_peer(struct win *win, uint32_t target);

/* Wait for the post of a target and open that peer. */
void win_await_post(struct win *win, uint32_t target);

/* Admit operations on a peer. In a dynamic window, forget the range that was
 * found last if the table of the target has changed. */
static inline void win_admit(const struct win *win, struct peer *peer)
{
    if (UNLIKELY(win->attached != NULL) && !thread_concurrent &&
        !attached_unchanged(win->attached->peer[peer - win->peer].table, peer->sequence))
        peer->size = 0;
    peer->stamp = win->stamp;
}

/* Whether a passive epoch is open towards this target or, in the second function, towards any
 * target. */
static inline bool win_passive(const struct win *win, uint32_t target)
{
    return (win->epochs & WIN_LOCK_ALL) || win->peer[target].lock;
}

static inline bool win_passive_any(const struct win *win)
{
    return (win->epochs & WIN_LOCK_ALL) || atomic_load_explicit(&win->locked, memory_order_relaxed);
}

/* Whether a lock of some target admits operations and flushes on all targets. */
static inline bool win_admits_in_locks(const struct win *win)
{
    return win->lenient_in_locks && atomic_load_explicit(&win->locked, memory_order_relaxed);
}

static inline enum win_fence_epoch win_fence_epoch(const struct win *win)
{
    return atomic_load_explicit(&win->fence, memory_order_relaxed);
}

/* Whether no peer has a stamp that the window will have later: such a peer would be open then. */
static inline bool win_stamps_are_valid(const struct win *win)
{
    for (uint32_t r = 0; r < win->size; r++)
        if (win->peer[r].stamp > win->stamp)
            return false;
    return win->stamp;
}

/* Close all peers. */
static inline void win_close_peers(struct win *win)
{
    assert(win_stamps_are_valid(win));
    win->stamp++;
    if (LIKELY(win->stamp != 0))
        return;
    /* The stamp has wrapped: an old stamp of a peer must not equal a new one of the window. */
    for (uint32_t r = 0; r < win->size; r++)
        win->peer[r].stamp = 0;
    win->stamp = 1;
}

/* Whether an epoch of lock, lock_all or start may begin: none of lock_all or start is open, nor one
 * of a used fence. Callers check for locks of single targets themselves. */
static inline bool win_may_begin(const struct win *win)
{
    return !(win->epochs & (WIN_LOCK_ALL | WIN_START)) && win_fence_epoch(win) != WIN_FENCE_USED;
}

/* Call if an epoch may not begin beside those that are open. True: the window is lenient, so it
 * may. Calls win_use_leniency(). Waits for the posts of all targets of an open epoch of
 * win_start(), since the new epoch may admit operations on them. */
bool win_tolerates(struct win *win);

/* End an unused epoch of a fence, because an access epoch of another kind begins. An exposure epoch
 * does not end it: the two may overlap, if no rank uses the fence to access this one (MPI-4.0,
 * 12.5). No peer is open, since the epoch was not used; in a lenient window, some may be. */
static inline void win_end_fence(struct win *win)
{
    if (win_fence_epoch(win) != WIN_NO_FENCE)
        atomic_store_explicit(&win->fence, WIN_NO_FENCE, memory_order_relaxed);
}

#endif
