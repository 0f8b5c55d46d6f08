/* Passive target synchronization (MPI-4.0, 12.5.3). All functions return WIN_OK or WIN_ERR_SYNC;
 * after WIN_ERR_SYNC nothing has changed. Ranks are ranks in the group of the window.
 *
 * `win_target.lock` is a reader/writer lock (core/lock.h). The readers of `lock_all` in struct
 * win_shared hold all targets. The two exclude each other as follows:
 *
 *   exclusive lock of t  takes the lock of t, then reads `lock_all`. If a rank is in lock_all, it
 *                        releases the lock of t and waits until no rank is.
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
 * Lock_all itself can withdraw, since nothing depends on it yet. While it waits, new exclusive
 * locks wait for it. After LEAVE_AFTER_NS, the holder may be waiting for it: lock_all decrements
 * `lock_all`, waits until the word of the lock changes or for as long again, and begins again. Each
 * time it waits twice as long, so that locks which are held for long do not starve it.
 *
 * Reading all locks is O(n). Lock_all skips it as long as no rank has used an exclusive lock: a
 * rank sets `exclusive_used` before it takes its first one, and lock_all reads it after the
 * increment. */
#ifndef MPIACCEL_SYNC_PASSIVE_H
#define MPIACCEL_SYNC_PASSIVE_H

#include "rma_shm/epoch.h"

enum win_error win_lock(struct win *win, enum win_lock kind, uint32_t target);
enum win_error win_unlock(struct win *win, uint32_t target);
enum win_error win_lock_all(struct win *win, bool no_check);
enum win_error win_unlock_all(struct win *win);

#endif
