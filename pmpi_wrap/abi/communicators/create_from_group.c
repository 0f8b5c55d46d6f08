/* MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups (MPI-4.0, 7.4.2 and 7.6.2). */
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/life_cycle/init_finalize.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/private_comm.h"

static int size_of(MPI_Group group)
{
    int size = 0;
    if (group != MPI_GROUP_NULL)
        host.Group_size(group, &size);
    return size;
}

/* Compare the processes, not only their number: with MPI_Comm_spawn a group may have processes of
 * two jobs. */
static bool has_all_processes(MPI_Group group)
{
    int result = MPI_UNEQUAL;
    if (size_of(group) == size_of(world_group()))
        host.Group_compare(group, world_group(), &result);
    return result != MPI_UNEQUAL;
}

int accel_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info,
                                 MPI_Errhandler handler, MPI_Comm *comm)
{
    if (inside_host() || !host_is_in_use())
        return host.Comm_create_from_group(group, tag, info, handler, comm);
    bool all = node_setup_needs_groups() && has_all_processes(group);
    if (!all && size_of(group) > 1)
        node_setup_group_begins();
    int result = host.Comm_create_from_group(group, tag, info, handler, comm);
    if (result != MPI_SUCCESS || *comm == MPI_COMM_NULL)
        return result;
    team_forget_child(BITS(*comm));
    private_comm();
    if (!all)
        return result;
    node_setup_settle(*comm, tag);
    if (node_setup_has_early_groups())
        team_mark(*comm);
    return result;
}

int accel_Intercomm_create_from_groups(MPI_Group local, int local_leader, MPI_Group remote,
                                       int remote_leader, const char *tag, MPI_Info info,
                                       MPI_Errhandler handler, MPI_Comm *comm)
{
    if (inside_host() || !host_is_in_use())
        return host.Intercomm_create_from_groups(local, local_leader, remote, remote_leader, tag,
                                                 info, handler, comm);
    node_setup_group_begins();
    int result = host.Intercomm_create_from_groups(local, local_leader, remote, remote_leader, tag,
                                                   info, handler, comm);
    if (result != MPI_SUCCESS || *comm == MPI_COMM_NULL)
        return result;
    team_forget_child(BITS(*comm));
    private_comm();
    return result;
}
