/* The calls whose communicators do not get their teams from a parent, although they have one
 * (MPI-4.0, 7.4.2 and 7.6.2). The host may give a new communicator the handle of a child that has
 * been freed past this library before its first collective call (free_notice.h). */
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/handlers.h"

static int forget_freed(int result, const MPI_Comm *created)
{
    if (result == MPI_SUCCESS && *created != MPI_COMM_NULL)
        team_forget_child(BITS(*created));
    return result;
}

int accel_Comm_create_group(MPI_Comm parent, MPI_Group group, int tag, MPI_Comm *created)
{
    return forget_freed(host.Comm_create_group(parent, group, tag, created), created);
}

int accel_Comm_idup(MPI_Comm parent, MPI_Comm *created, MPI_Request *request)
{
    return forget_freed(host.Comm_idup(parent, created, request), created);
}

int accel_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader,
                           int tag, MPI_Comm *created)
{
    return forget_freed(
        host.Intercomm_create(local, local_leader, peer, remote_leader, tag, created), created);
}

int accel_Intercomm_merge(MPI_Comm between, int high, MPI_Comm *created)
{
    return forget_freed(host.Intercomm_merge(between, high, created), created);
}
