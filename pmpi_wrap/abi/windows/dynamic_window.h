/* Dynamic windows: operations on memory in the shared file are loads, stores and atomics, and those
 * on other memory are left to the host (docs/decisions/063-dynamic-windows.md).
 *
 * The host's window with the same handle is a dynamic one. All memory is attached to it as well, so
 * the host reports the errors of MPI_Win_attach and of accesses to memory that is not attached. The
 * table of the target decides whether this library or the host performs an access
 * (rma_shm/attached.h). An operation on memory of both kinds is divided.
 *
 * This library synchronises the ranks, as on other windows. Before a rank leaves its first
 * operation of an epoch on a target to the host, it opens an epoch of the host's window towards
 * that target: MPI_Win_lock with MPI_LOCK_SHARED and MPI_MODE_NOCHECK. No rank locks the host's
 * window exclusively, so MPI_MODE_NOCHECK is allowed, and the host sends nothing. While this epoch
 * is open,
 *
 *   flush, flush_local,        also call the host's flush for each target on which the host
 *   flush_all,                 has outstanding operations. Its MPI_Win_flush_all is not used:
 *   flush_local_all            that of Open MPI's osc/rdma completes nothing in an epoch of
 *                              MPI_Win_lock
 *   the call that ends the     first calls the host's MPI_Win_unlock, which completes the
 *   access epoch               operations at the target. Loads of the target then find the data,
 *                              since all hosts have the unified memory model
 *   MPI_Win_free               also calls MPI_Win_unlock first, since an epoch of MPI_Win_fence may
 *                              be open
 *
 * So the host's window is in an epoch towards a target only while this library's window is. A rank
 * that waits in this library drives the host's progress, so its host can perform operations of
 * others meanwhile.
 *
 * If several threads may call MPI at once, a flush does not clear the mark `outstanding`: another
 * thread may flush after this thread has set the mark, and before this thread calls the host's
 * operation. */
#ifndef MPIACCEL_DYNAMIC_WINDOW_H
#define MPIACCEL_DYNAMIC_WINDOW_H

#include "pmpi_wrap/abi/communicators/properties.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/operation.h"

/* Whether such a window can be accelerated: it has several ranks, and permits MPI_Win_lock. */
bool dynamic_window_can(const struct window_request *r, const struct comm_properties *s);

/* Call before an operation is left to the host, inside an epoch of this library that admits it.
 * Returns the result of the host. */
int dynamic_window_leave(struct win *win, MPI_Win handle, int rank);

/* Perform an operation whose target memory is partly, but not wholly, in one range of the table.
 * Call after all arguments have been checked. Does not complete `o->request`. Returns the result of
 * the call. An accumulate may return DEFERRED: then call the host, which checks the datatypes. */
int dynamic_window_divide_transfer(struct win *win, const struct operation *o, bool put);
int dynamic_window_divide_accumulate(struct win *win, const struct operation *o,
                                     const struct reducer *reducer, const struct typemap *maps[3]);

/* Complete the host's operations on `rank`, which may be ALL_RANKS; if `local`, only at the origin.
 * The second function ends the host's epochs. Both continue after an error of the host, and return
 * the first one. */
int dynamic_window_flush(struct win *win, int rank, bool local);
int dynamic_window_close(struct win *win, int rank);

#endif
