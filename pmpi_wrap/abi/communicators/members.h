/* Which member of the node a rank of a communicator is. */
#ifndef MPIACCEL_MEMBERS_H
#define MPIACCEL_MEMBERS_H

#include "pmpi_wrap/abi/host_api.h"

/* `comm`: the MPI_Comm as the program passes it to a call. Returns the member that is rank `rank`
 * of it, or -1: there is no such rank, it is on another node, or its member is not known without
 * asking the host, because the communicator has no team. */
int member_of_rank(long comm, int rank);

/* As member_of_rank(), for statistics. Asks the host, so -1 means that the rank is on another node
 * or does not exist.
 */
int member_by_host(long comm, int rank);

/* Translate ranks of a group of `size` ranks, from `first` on, into ranks of the group `to`.
 * Allocates nothing. Returns how many it has translated. */
enum { MEMBERS_AT_A_TIME = 64 };
int members_translate(MPI_Group from, int size, int first, MPI_Group to,
                      int found[MEMBERS_AT_A_TIME]);

/* Find the members of the node in a group of `size` ranks, some at a time and not in the order of
 * their ranks. Set `next` to 0 before the first call. Returns whether another call is needed.
 * Allocates nothing, once node_group() exists. */
struct members_found {
    int next, some;
    int rank[MEMBERS_AT_A_TIME], member[MEMBERS_AT_A_TIME];
};
bool members_find(MPI_Group group, int size, struct members_found *found);

#endif
