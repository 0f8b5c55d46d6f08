/* Which member of the node is a rank of a communicator. */
#ifndef MPIACCEL_MEMBERS_H
#define MPIACCEL_MEMBERS_H

#include "pmpi_wrap/abi/host_api.h"

/* `comm`: an MPI_Comm as a call's argument. Returns the member that is `rank` of it, or -1: the
 * rank is none, is on another node, or is not known without asking the host, because the
 * communicator has no team. */
int member_of_rank(long comm, int rank);

/* The same for statistics. Asks the host, so -1 means that the rank is on another node or is none.
 */
int member_by_host(long comm, int rank);

/* Translate ranks of a group of `size` ranks, from `first` on, into ranks of MPI_COMM_WORLD.
 * Allocates nothing. Returns how many it has translated. */
enum { MEMBERS_AT_A_TIME = 128 };
int members_translate(MPI_Group group, int size, int first, int world_ranks[MEMBERS_AT_A_TIME]);

#endif
