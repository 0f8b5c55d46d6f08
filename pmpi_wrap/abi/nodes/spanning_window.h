/* Windows that span nodes: put and get between ranks of the same node are loads and stores.
 *
 * The window belongs to the host, which performs everything else: operations on other nodes, all
 * accumulates, and all synchronization. When it is created, the ranks exchange the positions of
 * their memory. Afterwards each rank decides by itself how it performs an operation, since the
 * host's window has the same memory and accepts any of them.
 *
 * A load or store is correct only while the target admits it, and only the host knows when: its
 * MPI_Win_lock may return before the lock has been granted. (Open MPI's osc/pt2pt sends a request
 * and continues; its osc/rdma may lock a target of MPI_Win_lock_all with the first operation on
 * it.) So in each passive target epoch the host performs the first put or get on a target. When
 * MPI_Win_flush of that target has returned, the operation is complete, so the host holds the lock,
 * and the target is open until MPI_Win_unlock. There is no such evidence in epochs of MPI_Win_fence
 * and MPI_Win_start, in which the host performs all operations.
 *
 * What orders an earlier operation before a later one:
 *
 *   earlier                 later               order
 *   store of a put          load or store of    a full fence in flush, unlock, MPI_Win_sync and
 *                           any rank, or an     MPI_Win_free, which precedes every message by which
 *                           operation of the    another rank, or the host, finds that it may begin
 *                           host                (win_complete_operations())
 *   operation of the host   load or store       the host's flush, which returns when the operation
 *                                               is complete in the target's memory, as the window
 *                                               has the unified memory model
 *   either, without a       either, on the      none: MPI defines none between put, get and
 *   flush                   same target         accumulate
 *
 * A flush calls the host if the host has performed an operation on the target since the last one,
 * or if the target is not open. MPI_Win_flush_all then also calls the host's MPI_Win_flush of each
 * target that is locked by MPI_Win_lock: Open MPI's osc/rdma completes nothing there in its
 * MPI_Win_flush_all. Without the host's flush, a rank drives the host's progress as in
 * windows of one node (core/thread.h). Operations of other ranks on its own memory, which some
 * hosts perform in the target, then wait for at most about TICKS_PER_PROGRESS_MAX.
 *
 * MPI_Win_allocate is left to the host if the host shares the memory inside the node itself.
 * Otherwise the library allocates the memory, and the host creates a window over it.
 *
 * All this holds while one thread at a time is inside MPI: a flush of one thread would have to know
 * which operations another one has begun. Otherwise the host performs all operations.
 */
#ifndef MPIACCEL_SPANNING_WINDOW_H
#define MPIACCEL_SPANNING_WINDOW_H

#include "pmpi_wrap/abi/windows/window_setup.h"
#include "pmpi_wrap/registry.h"
#include "rma_shm/win.h"

#include <limits.h>

/* What this rank has left to the host on a target of its node. */
struct spanning_target {
    bool probed;      /* the host has performed a put or get in the open epoch */
    bool outstanding; /* there may be operations that no flush has completed */
    bool locked;      /* by MPI_Win_lock */
    int rank;
};

struct spanning_window {
    /* Its peers are the ranks of this node whose memory is shared, numbered by `near`. Only their
     * addresses, and the stamps that show which of them are open, are used. */
    struct win *node;
    struct spanning_target *target; /* by the same number */
    uint32_t size;
    uint32_t locks;      /* passive target epochs that are open */
    bool outstanding;    /* of any target, also on other nodes */
    void *memory;        /* of MPI_Win_allocate */
    struct entry *entry; /* of the registry, until the window is open */
    uint16_t near[];     /* by rank: its number among the peers plus 1, or 0 */
};

/* Collective, before the host creates a window: exchange where the window's memory is. `reason`:
 * why the window is left to the host. NULL: nothing in the window is accelerated. */
struct spanning_window *spanning_window_prepare(const struct window_request *r, enum reason reason);

/* As spanning_window_prepare(), for MPI_Win_allocate. The caller then lets the host create a window
 * over `memory`. NULL, on all ranks: the host has to allocate the memory. */
struct spanning_window *spanning_window_allocate(const struct window_request *r,
                                                 enum reason reason);

/* Call with the result of the host's call that creates the window. */
void spanning_window_open(struct spanning_window *s, const MPI_Win *win, int result);

/* Call when the host has freed the window. `all_done`: no other rank accesses the memory any more.
 * Otherwise it stays allocated. */
void spanning_window_close(MPI_Win win, bool all_done);

/* Call when the host has been finalized. */
void spanning_windows_forget(void);

/* NULL: there is none. */
struct spanning_window *spanning_window_of(MPI_Win win);

/* The number of a rank among the peers, or -1. */
int spanning_peer(const struct spanning_window *s, int rank);

/* The same, or -1 if the target is not open, so that its memory must not be accessed. */
int spanning_open_peer(const struct spanning_window *s, int rank);

/* Call when an operation is left to the host. */
void spanning_left_to_host(MPI_Win win, int rank);

/* Call after the host's MPI_Put or MPI_Get and their variants. Returns `result`. */
int spanning_probed(MPI_Win win, int rank, int result);

/* ---- synchronization ----
 *
 * `rank`: ALL_RANKS for the calls that have no rank. */
enum { ALL_RANKS = INT_MIN };

/* Call when the host's MPI_Win_lock or MPI_Win_lock_all has returned. Returns `result`. */
int spanning_locked(MPI_Win win, int rank, int result);

/* Call before the host's MPI_Win_unlock or MPI_Win_unlock_all, and after it; the second function
 * returns `result`. */
void spanning_unlock(MPI_Win win, int rank);
int spanning_unlocked(MPI_Win win, int result);

/* Complete the stores of this rank, in a flush and in MPI_Win_sync. True: the window is open, and a
 * flush of the rank has nothing to do in the host. */
bool spanning_complete(MPI_Win win, int rank);

/* Call when the host's MPI_Win_flush or MPI_Win_flush_all has returned. Returns `result`. */
int spanning_flushed(MPI_Win win, int rank, int result);

#endif
