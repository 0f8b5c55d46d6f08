/* Active target synchronization (MPI-4.0, 12.5.1 and 12.5.2). All functions return WIN_OK or
 * WIN_ERR_SYNC; after WIN_ERR_SYNC nothing has changed. Ranks are ranks in the group of the window.
 *
 * Fence: a barrier (core/barrier.h). Stores of all ranks before it are visible to all ranks after
 * it.
 *
 * Post, start, complete, wait.
 *   post      target t sets its bit in the set of origin o and increments the `posts` of o.
 *   start     never blocks, the weakest behaviour that MPI allows.
 *   operation the first one on t waits for the bit (win_await_post() in epoch.h).
 *   complete  waits for the bits that no operation has waited for, clears the bits, and increments
 *             the `completions` of every target. Only complete clears bits: several threads may be
 *             waiting for the same one.
 *   wait      waits until `completions` has grown by the size of the group.
 *
 * One bit per pair is enough: t posts again only after its wait, which needs the complete of o,
 * which has cleared the bit. An origin of a later epoch cannot be counted early, since its complete
 * waits for the later post. MPI_MODE_NOCHECK finds the bit set and needs no path of its own.
 */
#ifndef MPIACCEL_SYNC_ACTIVE_H
#define MPIACCEL_SYNC_ACTIVE_H

#include "rma_shm/epoch.h"

enum win_error win_fence(struct win *win, bool no_succeed);

enum win_error win_post(struct win *win, const int *origins, uint32_t count);
enum win_error win_start(struct win *win, const int *targets, uint32_t count);
enum win_error win_complete(struct win *win);
enum win_error win_wait(struct win *win);
enum win_error win_test(struct win *win, bool *done);

#endif
