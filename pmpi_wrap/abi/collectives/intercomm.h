/* The collectives of intercommunicators (MPI-4.0, 6.2.3), for calls whose communicator has no team
 * of an intracommunicator. The root is as the program passes it: a rank, MPI_ROOT or MPI_PROC_NULL.
 *
 * Every call on a fast intercommunicator increments the operation number on all ranks, even if the
 * call is then left to the host. In a rooted call the ranks that pass MPI_PROC_NULL do nothing
 * else. They lack the arguments by which the other ranks decide (H13: decisions from what is equal
 * on all ranks), and under the host they have nothing to do either.
 */
#ifndef MPIACCEL_INTERCOMM_H
#define MPIACCEL_INTERCOMM_H

#include "pmpi_wrap/abi/collectives/collectives.h"

int intercomm_barrier(MPI_Comm comm);
int intercomm_bcast(enum call call, struct data d, int root, MPI_Comm comm);
int intercomm_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
                     MPI_Comm comm);
int intercomm_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
                      MPI_Comm comm);
int intercomm_allgather(enum call call, struct data from, const struct rank_blocks *to,
                        MPI_Comm comm);
int intercomm_alltoall(enum call call, const struct rank_blocks *from, const struct rank_blocks *to,
                       MPI_Comm comm);
int intercomm_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm);
int intercomm_allreduce(enum call call, const struct reduction *r, MPI_Comm comm);
int intercomm_reduce_scatter(enum call call, struct reduction r, struct rank_blocks results,
                             MPI_Comm comm);

/* MPI_Scan and MPI_Exscan, which intercommunicators do not have. */
int intercomm_undefined(enum call call, MPI_Comm comm);

#endif
