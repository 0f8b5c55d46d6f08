/* MPI_Win_shared_query (MPI-4.1, 12.2.3). */
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/window.h"

/* From MPI-4.1 on any window but a dynamic one can be queried. Earlier hosts refuse windows that
 * were not created by MPI_Win_allocate_shared, and this library leaves them the refusal. */
static bool implements_4_1(void)
{
    int version, subversion;
    host.Get_version(&version, &subversion);
    return version > 4 || (version == 4 && subversion >= 1);
}

/* NULL: the host answers. */
static const struct win *queried_window(MPI_Win win)
{
    const struct entry *e = window_entry(win);
    const struct win *fast = fast_window_of(e);
    bool can =
        fast && !fast->attached &&
        (window_flavor(window_unpack(e->detail)) == MPI_WIN_FLAVOR_SHARED || implements_4_1());
    return can ? fast : NULL;
}

/* The peer that is queried: for MPI_PROC_NULL, the lowest rank with a size above 0. NULL: none. */
static const struct peer *queried_peer(const struct win *fast, int rank)
{
    if (rank != MPI_PROC_NULL)
        return &fast->peer[rank];
    for (uint32_t r = 0; r < fast->size; r++)
        if (fast->peer[r].size > 0)
            return &fast->peer[r];
    return NULL;
}

/* The same in a window of MPI_Win_allocate that spans nodes, over memory of this library, of which
 * the host has no addresses. NULL: the host answers. Its MPI_Win_lock waits for the lock, as it
 * must if memory is shared (MPI-4.1, 12.5.3). In a window of MPI_Win_create another host's may not,
 * so the host answers there. */
static const struct peer *queried_in_node(MPI_Win win, int rank)
{
    const struct spanning_window *s = spanning_window_of(win);
    if (!s || !s->memory || !implements_4_1())
        return NULL;
    int peer = rank != MPI_PROC_NULL ? spanning_peer(s, rank) : s->node->size ? 0 : -1;
    return peer >= 0 ? &s->node->peer[peer] : NULL;
}

int SUFFIXED(accel_Win_shared_query)(MPI_Win win, int rank, MPI_Aint *size, DISPLACEMENT *unit,
                                     void *baseptr)
{
    const struct win *fast = queried_window(win);
    if (fast && rank != MPI_PROC_NULL && (uint32_t)rank >= fast->size)
        return report_on_win(win, MPI_ERR_RANK);
    const struct peer *peer = fast ? queried_peer(fast, rank) : queried_in_node(win, rank);
    if (!fast && !peer)
        return host.SUFFIXED(Win_shared_query)(win, rank, size, unit, baseptr);
    *size = peer ? (MPI_Aint)peer->size : 0;
    *unit = peer ? (DISPLACEMENT)peer->unit : 0;
    *(void **)baseptr = peer ? peer->base : NULL;
    return MPI_SUCCESS;
}
