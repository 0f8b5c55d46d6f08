/* Communicators that are created from one with a team (coll_inplace/child.h), until their first
 * collective call: then they are registered as any other communicator. Many are freed before.
 *
 * Every call that creates a communicator from all ranks of another one is one of these creations,
 * on all ranks of the parent alike. MPI_Comm_create_group, MPI_Comm_idup, intercommunicators and
 * sessions use the exchange of team_setup.h.
 */
#ifndef MPIACCEL_FROM_PARENT_H
#define MPIACCEL_FROM_PARENT_H

#include "pmpi_wrap/abi/communicators/team_setup.h"

/* Call before the host creates a communicator. `parent` may be any handle. Returns whether the
 * parent has a team; if so, call the second one afterwards, with the host's result, which is
 * returned. `same_ranks`: the ranks are those of the parent, in the same order. */
bool team_before_creation(MPI_Comm parent);
int team_after_creation(MPI_Comm parent, int result, const MPI_Comm *created, bool same_ranks);

/* In a collective call on a communicator that team_find() does not find: if it is such a child,
 * register it, with a team if no rank has declined. NULL: it is none, or there is no memory. */
struct communicator *team_from_parent(MPI_Comm comm);

/* The team of an intracommunicator in a collective call that is not counted by team_for(). NULL: it
 * has none yet. */
struct team *team_in_collective(MPI_Comm comm);

/* Call before the host frees a communicator, with the bits of its handle; and when all handles have
 * become invalid. */
void team_forget_child(uintptr_t handle);
void team_forget_children(void);

#endif
