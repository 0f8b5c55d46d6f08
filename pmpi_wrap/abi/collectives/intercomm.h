/* The collectives of intercommunicators (MPI-4.0, 6.2.3), for calls whose communicator has no team
 * of its own: in the shape of their kinds, with the root as the program gives it.
 *
 * Every call of a fast intercommunicator takes a number on all ranks, also one that then goes to
 * the host: in a rooted call ranks that pass MPI_PROC_NULL know of none, and what only the others
 * know decides (H13). Under the host they have nothing to do either.
 */
#ifndef MPIACCEL_ABI_ACROSS_H
#define MPIACCEL_ABI_ACROSS_H

#include "pmpi_wrap/abi/collectives/collectives.h"

int intercomm_barrier(MPI_Comm comm);
int intercomm_bcast(enum call call, struct data d, int root, MPI_Comm comm);
int intercomm_gather(enum call call, struct data from, const struct all *to, int root,
                     MPI_Comm comm);
int intercomm_scatter(enum call call, const struct all *from, struct data to, int root,
                      MPI_Comm comm);
int intercomm_allgather(enum call call, struct data from, const struct all *to, MPI_Comm comm);
int intercomm_alltoall(enum call call, const struct all *from, const struct all *to, MPI_Comm comm);
int intercomm_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm);
int intercomm_allreduce(enum call call, const struct reduction *r, MPI_Comm comm);
int intercomm_reduce_scatter(enum call call, struct reduction r, struct all shares, MPI_Comm comm);

/* What intercommunicators do not have. */
int intercomm_undefined(enum call call, MPI_Comm comm);

#endif
