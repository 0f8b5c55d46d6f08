/* Which member of the node is a rank of a communicator. */
#ifndef MPIACCEL_MEMBERS_H
#define MPIACCEL_MEMBERS_H

/* `comm`: an MPI_Comm as a call's argument. Returns the member that is `rank` of it, or -1: the
 * rank is none, is on another node, or is not known without asking the host, because the
 * communicator has no team. */
int member_of_rank(long comm, int rank);

#endif
