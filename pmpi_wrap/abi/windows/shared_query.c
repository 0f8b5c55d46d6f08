/* MPI_Win_shared_query (MPI-4.1, 12.2.3). */
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/windows/window.h"

/* From MPI-4.1 on any window can be queried. Earlier hosts refuse windows that were not created by
 * MPI_Win_allocate_shared, and this library leaves them the refusal. */
static bool can_answer_query(MPI_Win win)
{
    int version, subversion;
    const struct entry *e = registry_find(&window_registry, BITS(win));
    const struct win *fast = e ? e->object : NULL;
    if (!fast || fast->attached)
        return false;
    host.Get_version(&version, &subversion);
    return version > 4 || (version == 4 && subversion >= 1) ||
           window_flavor(window_unpack(e->detail)) == MPI_WIN_FLAVOR_SHARED;
}

/* The peer that is queried: for MPI_PROC_NULL, the lowest rank with a size above 0 (MPI-4.1,
 * 12.2.3). NULL: none. */
static const struct peer *queried_peer(const struct win *fast, int rank)
{
    if (rank != MPI_PROC_NULL)
        return &fast->peer[rank];
    for (uint32_t r = 0; r < fast->size; r++)
        if (fast->peer[r].size > 0)
            return &fast->peer[r];
    return NULL;
}

int SUFFIXED(accel_Win_shared_query)(MPI_Win win, int rank, MPI_Aint *size, DISPLACEMENT *unit,
                                     void *baseptr)
{
    if (!can_answer_query(win))
        return host.SUFFIXED(Win_shared_query)(win, rank, size, unit, baseptr);
    const struct win *fast = fast_window(win);
    if (rank != MPI_PROC_NULL && (rank < 0 || (uint32_t)rank >= fast->size))
        return report_on_win(win, MPI_ERR_RANK);
    const struct peer *peer = queried_peer(fast, rank);
    *size = peer ? (MPI_Aint)peer->size : 0;
    *unit = peer ? (DISPLACEMENT)peer->unit : 0;
    *(void **)baseptr = peer ? peer->base : NULL;
    return MPI_SUCCESS;
}
