/* Passive target synchronization (MPI-4.0, 12.5.3). All functions return WIN_OK or WIN_ERR_SYNC;
 * after WIN_ERR_SYNC nothing has changed. Ranks are ranks in the group of the window.
 *
 * `win_target.lock` is a reader/writer lock (core/lock.h). `win_shared.lock_all` is another one, of
 * which only the reader side is used: a rank is its reader from MPI_Win_lock_all to
 * MPI_Win_unlock_all. The two exclude each other as follows:
 *
 *   exclusive lock of t  takes the lock of t, then reads `lock_all`. If that has readers, it
 *                        releases the lock of t and waits until there are none.
 *   lock_all             increments `lock_all`, then reads the lock of each target and waits while
 *                        it is held exclusively.
 *
 * Each side writes its own word, then reads the other's. All four accesses are sequentially
 * consistent, so at least one side sees the other's write.
 *
 * When lock_all returns, no rank holds an exclusive lock, and operations in the epoch never wait
 * for one. If they did, programs that lock several targets in rank order would deadlock: the holder
 * of target 1 requests target 2 and waits for a rank in lock_all, whose operation on target 1 waits
 * for the holder. An operation cannot withdraw from the epoch, because earlier loads, stores or
 * operations in it may already have accessed other targets.
 *
 * Lock_all itself can withdraw, since nothing depends on it yet. While it waits, no rank acquires a
 * new exclusive lock. So a holder that requests another one waits for lock_all, which waits for the
 * holder. To end this, lock_all withdraws after WITHDRAW_AFTER_NS: it decrements `lock_all`, waits
 * until the word of the lock changes or the same time has passed, and begins again. Both times
 * double with each attempt, up to WITHDRAW_AFTER_NS_MAX, so that an attempt soon takes longer than
 * locks are held.
 *
 * Reading all locks is O(n). Lock_all skips it as long as no rank has requested an exclusive lock:
 * a rank sets `exclusive_used` before it requests its first one, and lock_all reads it after the
 * increment. */
#ifndef MPIACCEL_SYNC_PASSIVE_H
#define MPIACCEL_SYNC_PASSIVE_H

#include "rma_shm/epoch.h"

enum win_error win_lock(struct win *win, enum win_lock kind, uint32_t target);
enum win_error win_unlock(struct win *win, uint32_t target);
enum win_error win_lock_all(struct win *win, bool no_check);
enum win_error win_unlock_all(struct win *win);

/* Call before this rank is admitted only because the window is lenient or, in the second function,
 * lenient in locks, and a target is locked. False: it is not. Sets `lenient_used`. The first time
 * in this rank, waits for the holders of exclusive locks, whose accumulates may still use plain
 * accesses (atomic.h), but for at most WITHDRAW_AFTER_NS, since a holder may be waiting for this
 * rank: then an accumulate in progress for so long would not be atomic. */
bool win_use_leniency(struct win *win);
bool win_use_other_lock(struct win *win);

/* End all passive target epochs of this rank. */
void win_release_locks(struct win *win);

#endif
