/* The calls whose communicators do not get their teams from a parent, although they have one
 * (MPI-4.0, 7.4.2 and 7.6.2), and those that connect ranks with other processes (chapter 11). */
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/host_wait.h"

int accel_Comm_create_group(MPI_Comm parent, MPI_Group group, int tag, MPI_Comm *created)
{
    return team_forget_freed(host.Comm_create_group(parent, group, tag, created), created);
}

int accel_Comm_idup(MPI_Comm parent, MPI_Comm *created, MPI_Request *request)
{
    int result = host.Comm_idup(parent, created, request);
    team_after_idup(parent, result);
    return team_forget_freed(result, created);
}

int accel_Comm_idup_with_info(MPI_Comm parent, MPI_Info info, MPI_Comm *created,
                              MPI_Request *request)
{
    int result = host.Comm_idup_with_info(parent, info, created, request);
    team_after_idup(parent, result);
    return team_forget_freed(result, created);
}

int accel_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader,
                           int tag, MPI_Comm *created)
{
    return team_forget_freed(
        host.Intercomm_create(local, local_leader, peer, remote_leader, tag, created), created);
}

int accel_Intercomm_merge(MPI_Comm between, int high, MPI_Comm *created)
{
    return team_forget_freed(host.Intercomm_merge(between, high, created), created);
}

/* ---- connecting to processes that are not ranks of the node ---- */

int accel_Comm_spawn(const char *command, char *arguments[], int count, MPI_Info info, int root,
                     MPI_Comm parent, MPI_Comm *created, int errors[])
{
    host_wait_stay_awake();
    return team_forget_freed(
        host.Comm_spawn(command, arguments, count, info, root, parent, created, errors), created);
}

int accel_Comm_spawn_multiple(int commands, char *command[], char **arguments[], const int counts[],
                              const MPI_Info infos[], int root, MPI_Comm parent, MPI_Comm *created,
                              int errors[])
{
    host_wait_stay_awake();
    return team_forget_freed(host.Comm_spawn_multiple(commands, command, arguments, counts, infos,
                                                      root, parent, created, errors),
                             created);
}

int accel_Comm_accept(const char *port, MPI_Info info, int root, MPI_Comm parent, MPI_Comm *created)
{
    host_wait_stay_awake();
    return team_forget_freed(host.Comm_accept(port, info, root, parent, created), created);
}

int accel_Comm_connect(const char *port, MPI_Info info, int root, MPI_Comm parent,
                       MPI_Comm *created)
{
    host_wait_stay_awake();
    return team_forget_freed(host.Comm_connect(port, info, root, parent, created), created);
}

int accel_Comm_join(int socket, MPI_Comm *created)
{
    host_wait_stay_awake();
    return team_forget_freed(host.Comm_join(socket, created), created);
}
