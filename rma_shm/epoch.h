/* Opening and closing epochs (MPI-4.0, 12.5). All return WIN_OK or WIN_ERR_SYNC, and then nothing
 * has happened. Ranks are ranks in the window's group.
 *
 * Fence: a barrier (core/barrier.h). Stores of all ranks before it are visible to all after it.
 *
 * Post, start, complete, wait. Target t sets its bit in origin o's row and counts up o's `posts`;
 * the origin, when it first needs t, or at complete, waits for the bit, and complete clears it: not
 * who has waited, since several threads may be waiting. One bit is enough: t posts again only after
 * its wait, which needs o's complete, which cleared the bit.
 * Complete counts up every target's `completions`; wait needs as many as the group has. An origin
 * of a later epoch cannot be counted early, since its complete waits for the later post. A start
 * therefore never blocks, as weak as MPI allows. MPI_MODE_NOCHECK then finds the bit set and needs
 * no path of its own.
 *
 * Locks: `lock` of the target, an rwlock. Lock_all is one increment of `lock_all`, whatever the
 * number of ranks. The two meet like this: who wants target t exclusively takes t's lock, then
 * looks at lock_all; if anyone is in there it lets go and waits for that to end. Who has entered
 * lock_all looks at t's lock at its first operation on t, and waits while it is held exclusively.
 * Both write, then read (sequentially consistent), so they cannot miss each other.
 */
#ifndef MPIACCEL_EPOCH_H
#define MPIACCEL_EPOCH_H

#include "rma_shm/win.h"

/* The first operation on a target in an epoch: is it allowed? Waits for the post of the target, or
 * for an exclusive holder to leave. */
enum win_error win_open(struct win *win, uint32_t target);

enum win_error win_fence(struct win *win, bool no_succeed);

enum win_error win_post(struct win *win, const int *origins, uint32_t count);
enum win_error win_start(struct win *win, const int *targets, uint32_t count);
enum win_error win_complete(struct win *win);
enum win_error win_wait(struct win *win);
enum win_error win_test(struct win *win, bool *done);

enum win_error win_lock(struct win *win, enum win_lock kind, uint32_t target);
enum win_error win_unlock(struct win *win, uint32_t target);
enum win_error win_lock_all(struct win *win, bool no_check);
enum win_error win_unlock_all(struct win *win);

/* Are we in a passive epoch towards this target, or towards any? */
static inline bool win_passive(const struct win *win, uint32_t target)
{
    return (win->epochs & WIN_LOCK_ALL) || win->peer[target].lock;
}

static inline bool win_passive_any(const struct win *win)
{
    return (win->epochs & WIN_LOCK_ALL) || atomic_load_explicit(&win->locked, memory_order_relaxed);
}

/* No peer is open any more. */
static inline void win_close_all(struct win *win)
{
    win->stamp++;
    if (LIKELY(win->stamp != 0))
        return;
    for (uint32_t r = 0; r < win->size; r++)
        win->peer[r].stamp = 0;
    win->stamp = 1;
}

/* An access epoch of another kind may begin: none is open but a fence that nobody used. */
static inline bool win_may_begin(const struct win *win)
{
    return !(win->epochs & (WIN_LOCK_ALL | WIN_START)) &&
           !((win->epochs & WIN_FENCE) && win->fence_used);
}

static inline void win_end_fence(struct win *win)
{
    if (win->epochs & WIN_FENCE) {
        win->epochs &= (uint8_t)~WIN_FENCE;
        win_close_all(win);
    }
}

/* Row of bits: who has posted towards `origin`. */
_Atomic uint32_t *win_posts_of(struct win *win, uint32_t origin);

void win_await_post(struct win *win, uint32_t target);

#endif
