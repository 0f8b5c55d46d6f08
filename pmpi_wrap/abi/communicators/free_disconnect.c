/* MPI_Comm_free and MPI_Comm_disconnect (MPI-4.0, 7.4.3 and 11.10.4). */
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/handlers.h"

int accel_Comm_free(MPI_Comm *comm)
{
    persistent_forget_comm(comm);
    uintptr_t handle = team_begin_removal(comm, false);
    return team_end_removal(handle, host.Comm_free(comm));
}

int accel_Comm_disconnect(MPI_Comm *comm)
{
    persistent_forget_comm(comm);
    uintptr_t handle = team_begin_removal(comm, true);
    return team_end_removal(handle, host.Comm_disconnect(comm));
}
