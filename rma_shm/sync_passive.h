/* Passive target synchronization (MPI-4.0, 12.5.3). All functions return WIN_OK or WIN_ERR_SYNC;
 * after WIN_ERR_SYNC nothing has changed. Ranks are ranks in the group of the window.
 *
 * `win_target.lock` is a reader/writer lock (core/lock.h). Lock_all is one increment of `lock_all`
 * in struct win_shared, whatever the number of ranks. The two exclude each other as follows:
 *
 *   exclusive lock of t  takes the lock of t, then reads `lock_all`. If a rank holds lock_all, it
 *                        releases the lock of t and waits until no rank does.
 *   lock_all             increments `lock_all`. The first operation on t reads the lock of t and
 *                        waits while it is held exclusively. For its own memory, lock_all makes
 *                        this check at once, since loads and stores of the program need no
 *                        operation.
 *
 * Each side writes its own word, then reads the other's. All four accesses are sequentially
 * consistent, so at least one side sees the other's write.
 */
#ifndef MPIACCEL_SYNC_PASSIVE_H
#define MPIACCEL_SYNC_PASSIVE_H

#include "rma_shm/epoch.h"

enum win_error win_lock(struct win *win, enum win_lock kind, uint32_t target);
enum win_error win_unlock(struct win *win, uint32_t target);
enum win_error win_lock_all(struct win *win, bool no_check);
enum win_error win_unlock_all(struct win *win);

#endif
