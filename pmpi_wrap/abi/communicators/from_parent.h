/* Communicators that are created from one with a team (coll_inplace/child.h), until their first
 * collective call: then they are registered as any other communicator. Many are freed before.
 *
 * Such communicators come from every blocking call in which all ranks of an intracommunicator, the
 * parent, create intracommunicators from it. So all ranks of the parent agree which calls these
 * are. MPI_Comm_create_group, MPI_Comm_idup, intercommunicators and sessions use the exchange of
 * team_setup.h.
 */
#ifndef MPIACCEL_FROM_PARENT_H
#define MPIACCEL_FROM_PARENT_H

#include "pmpi_wrap/abi/communicators/team_setup.h"

/* Call the first function before the host creates a communicator. `parent` may be any handle. If it
 * returns true, the parent has a team. Then call the second function after the host has returned
 * `result`, which the function returns in turn. `same_ranks` states that the new communicator has
 * the ranks of the parent in the same order. */
bool team_before_creation(MPI_Comm parent);
int team_after_creation(MPI_Comm parent, int result, const MPI_Comm *created, bool same_ranks);

/* Call in a collective call on a communicator that team_find() does not find. If the communicator
 * was created in this way, register it, with a team if no rank has declined. Returns NULL if the
 * communicator was not created in this way, or if there is no memory. */
struct communicator *team_from_parent(MPI_Comm comm);

/* The team of an intracommunicator, for a collective call that creates a communicator or a window.
 * Unlike team_for(), this function counts no deferred call. NULL if the communicator has no team
 * yet. */
struct team *team_in_collective(MPI_Comm comm);

/* Call the first function before the host frees a communicator, with the bits of its handle, and
 * the second one when all handles have become invalid. */
void team_forget_child(uintptr_t handle);
void team_forget_children(void);

/* Call when the host has returned `result`, which the function returns in turn, from any call that
 * creates a communicator: the host may give it the handle of a child that has been freed past this
 * library before its first collective call (free_notice.h). */
int team_forget_freed(int result, const MPI_Comm *created);

#endif
