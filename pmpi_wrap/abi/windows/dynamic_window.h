/* Dynamic windows: operations on memory in the shared file are loads, stores and atomics, and those
 * on other memory are left to the host (docs/decisions/063-dynamic-windows.md).
 *
 * The window of the host that has the same handle is a dynamic one, to which all memory is
 * attached, so that errors of MPI_Win_attach and of accesses to other memory are those of the host.
 * Which way an access goes follows from the table of its target (rma_shm/attached.h). If an
 * operation accesses memory of both kinds, each part goes its way.
 *
 * This library synchronises the ranks, as on other windows. On the host's window, a rank opens an
 * epoch towards a target before the first operation that it leaves to the host: MPI_Win_lock with
 * MPI_LOCK_SHARED and MPI_MODE_NOCHECK, which sends nothing, since no rank ever locks exclusively
 * there. While this epoch is open,
 *
 *   flush, flush_local         also call the host's call for each such target: Open MPI's osc/rdma
 *                              completes nothing in its MPI_Win_flush_all
 *   the call that ends the     calls the host's MPI_Win_unlock first, which completes the
 *   access epoch               operations at the target, as all hosts have the unified memory model
 *   MPI_Win_free               does so, too: MPI_Win_fence may have opened an epoch
 *
 * So the host's window is in an epoch only while that of this library is, towards the same target.
 * An epoch towards all targets (MPI_Win_lock_all) would wait for ranks that are not involved. A
 * target whose host performs operations drives its progress while it waits in this library.
 *
 * If several threads may be inside MPI at once, a flush always calls the host: between the mark
 * that an operation is outstanding and the operation, another thread might flush. */
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

/* Perform an operation of which some target memory is in the table, after all arguments have been
 * checked. Both return the result of the call; the second also DEFERRED, if only the host can judge
 * the datatypes. `o->request` is not completed. */
int dynamic_window_divide_transfer(struct win *win, const struct operation *o, bool put);
int dynamic_window_divide_accumulate(struct win *win, const struct operation *o,
                                     const struct reducer *reducer, const struct typemap *maps[3]);

/* Complete the operations that the host has performed on `rank`, or ALL_RANKS, at the target or
 * only locally, and end the epochs of the host's window. They return the result of the host, also
 * if they continue after an error. */
int dynamic_window_flush(struct win *win, int rank, bool local);
int dynamic_window_close(struct win *win, int rank);

#endif
