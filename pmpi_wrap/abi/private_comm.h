/* The objects of the host that this library needs for itself: a communicator of this process alone,
 * for the host's progress and for requests that are complete from the start, the group of all
 * processes of the job, and the group of those on this node.
 *
 * They derive from the world model if the program has called MPI_Init, otherwise from a session of
 * this library's own, since they have to last longer than any session of the program. The session
 * is finalized before the program's last one, so that finalizing the program's session finalizes
 * the host.
 *
 * Some hosts synchronise all processes in the first MPI_Comm_create_from_group, even on a group of
 * one process. So private_comm() must not be called before the program has made a communicator or
 * called MPI_Init.
 */
#ifndef MPIACCEL_PRIVATE_COMM_H
#define MPIACCEL_PRIVATE_COMM_H

#include "pmpi_wrap/abi/host_api.h"

/* The tag of the receive that the host's progress tests. Other messages on the communicator use
 * other tags. */
enum { PRIVATE_COMM_PROGRESS_TAG };

/* Returns the communicator, whose error handler returns. The first call creates it, and must not
 * come before the program has called MPI_Init or made a communicator. */
MPI_Comm private_comm(void);

/* The group of MPI_COMM_WORLD, or of the process set mpi://WORLD. MPI_GROUP_NULL: the host has
 * failed. */
MPI_Group world_group(void);

/* The ranks of node.rank_here, in the same order. MPI_GROUP_NULL: the host has failed. */
MPI_Group node_group(void);

/* The communicator for a collective call, which only one thread may make at a time. */
MPI_Comm private_comm_lock(void);
void private_comm_unlock(void);
/* The value of MPI_TAG_UB; 0: unknown. */
int largest_tag(void);

/* Run one step of the host's progress engine (H9: host progress while waiting), if private_comm()
 * has been called. */
void private_comm_progress(void);
bool private_comm_exists(void);

/* Make a request of the host's that is complete (H23: the program passes it to the host's
 * MPI_Wait and so on). */
int complete_request(MPI_Request *request);

/* Call the first function after the host's MPI_Init, when MPI_COMM_WORLD exists. Call the second
 * one before its MPI_Finalize if sessions of the program remain open. */
void private_comm_world_begins(void);
void private_comm_world_ends(void);

/* Whether these objects derive from a session. MPICH calls no delete functions of MPI_COMM_SELF
 * while that session is open. */
bool private_comm_is_of_session(void);

/* Call before the host is finalized, or in the last delete function of an attribute of
 * MPI_COMM_SELF. Delete functions of attributes of MPI_COMM_WORLD, which the host may call later,
 * create the communicator again if they need it. */
void private_comm_free(void);

/* Call after the host has been finalized, when its handles are invalid. */
void private_comm_finalized(void);

#endif
