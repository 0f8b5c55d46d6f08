/* The host's windows below fast ones (docs/decisions/065-use-host-windows-again.md).
 *
 * The host's window keeps the attributes, group, name, info and error handler of the fast one.
 * Except below a dynamic window (dynamic_window.h), no operation reaches it, so it has no memory.
 * Hosts take 5 to 280 us to create and free one, and more if ranks share processors. The other
 * parts of creating a fast window take less than 1 us. So when a fast window is freed, the host's
 * is kept for the next fast window of the same ranks in the same order, whatever its communicator.
 * It must not differ from a new one:
 *
 *   attributes of the program   a window that has had any is not kept, so the host deletes them
 *                               and reports errors of delete functions
 *   info                        a window that has had any is not kept
 *   name, error handler         reset
 *   predefined attributes       answered by attributes.c
 *   MPI_Win_allocate_shared     its windows are kept for such windows only
 *   MPI_Win_create_dynamic      its windows are not kept
 *
 * Rank 0 of a window's group gives the host's window a number that is the same on all its ranks and
 * differs from that of every other window. A rank offers the lowest number that it has kept for
 * these ranks; if all offer the same, they use that window (H13: the same decision on all ranks).
 * When a window is freed, each rank publishes whether it can keep the host's. All keep it, or none
 * does. Threads that free several windows at once may keep them in different orders on different
 * ranks.
 *
 * The host frees windows in a collective call that synchronises, so the kept ones cannot be freed
 * in MPI_Comm_free, which need not synchronise, nor in a delete function. They are freed in
 * MPI_Finalize, in the order of their numbers, which is the same on all ranks.
 */
#ifndef MPIACCEL_HOST_WINDOW_H
#define MPIACCEL_HOST_WINDOW_H

#include "pmpi_wrap/abi/communicators/properties.h"
#include "pmpi_wrap/abi/windows/window_setup.h"
#include "rma_shm/win.h"

/* Add to this rank's offer for a new window the number of the kept host window that it could use
 * and, on rank 0, the number of a new one. The offer's `reason` must be set before. */
void host_window_offer(const struct window_request *r, const struct comm_properties *s,
                       struct win_offer *offer);

/* Withdraw an offer that has not been accepted. */
void host_window_withdraw(const struct win_offer *offer);

/* The window of the host that follows from the offers of all ranks. */
struct host_window_choice {
    uint64_t number; /* 0: a new one, which will not be kept */
    bool kept;
};
struct host_window_choice host_window_choose(const struct win_offer *offers, uint32_t size);

/* Only for hosts whose windows collide (QUIRK_WINDOW_FILES_COLLIDE); on others these do nothing.
 * Call the first one when all ranks of the communicator have entered the call that creates the
 * window, and the second one when the host has created it. In between, no other communicator of the
 * node creates a window: rank 0 of each creates a file, and these would have the same name. Rank 0
 * waits for 100 ms at most, because an error handler of the program may have left the host's call
 * in another communicator without returning. */
void host_window_create_alone(const struct comm_properties *s);
void host_window_created(void);

/* Whether host_window_create_alone() may wait on this rank. */
bool host_window_is_created_alone(const struct comm_properties *s);

/* Get the chosen window. Returns the result of the host. */
int host_window_get(const struct window_request *r, const struct comm_properties *s,
                    struct host_window_choice choice, MPI_Win *win, struct win_below *below);

/* Call when the program changes a window in a way that cannot be undone. */
void host_window_changed(MPI_Win win);

/* Begin to free a fast window. True: all ranks keep the host's, and host_window_keep() follows. */
bool host_window_may_keep(struct win *fast);
void host_window_keep(MPI_Win win, const struct win *fast);

/* Collective: free the kept windows, and keep no more. */
void host_windows_close(void);

#endif
