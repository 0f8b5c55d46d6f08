/* The collectives of communicators that span nodes (abi/nodes/hierarchy.h).
 *
 * Inside a node the ranks use their team, between nodes the host's own collectives on a lane. So
 * the host remains the only engine that uses the network, and sends one message per pair of nodes
 * where it would send one per pair of ranks. A call is fast here if
 *
 *   MPI_Barrier, MPI_Bcast              all their data fit into HIERARCHY_ROOM
 *   MPI_Allreduce                       so does the operand, and the operation and datatype are
 *                                       predefined
 *   MPI_Reduce                          the same, and the nodes have equally many ranks
 *   MPI_Gather, MPI_Scatter             all blocks fit, those of a node into HIERARCHY_AHEAD, and
 *                                       the nodes have equally many ranks
 *   MPI_Allgather(v)                    all blocks fit
 *   MPI_Alltoall                        all blocks of a node's ranks fit
 *
 * All this is equal on all ranks (H13: decisions from what is equal on all ranks). Other calls are
 * left to the host. A reduction combines the operands of each node first, in the order of their
 * ranks, and then those of the nodes. Only predefined operations are fast, and they commute.
 *
 * Every function returns DEFERRED if the communicator does not span nodes or the call is left to
 * the host. It has counted the latter.
 */
#ifndef MPIACCEL_ACROSS_NODES_H
#define MPIACCEL_ACROSS_NODES_H

#include "pmpi_wrap/abi/collectives/collectives.h"

int across_nodes_barrier(MPI_Comm comm);
int across_nodes_bcast(enum call call, struct data d, int root, MPI_Comm comm);
int across_nodes_gather(enum call call, struct data from, const struct rank_blocks *to, int root,
                        MPI_Comm comm);
int across_nodes_scatter(enum call call, const struct rank_blocks *from, struct data to, int root,
                         MPI_Comm comm);
int across_nodes_allgather(enum call call, struct data from, const struct rank_blocks *to,
                           MPI_Comm comm);
int across_nodes_alltoall(enum call call, const struct rank_blocks *from,
                          const struct rank_blocks *to, MPI_Comm comm);
int across_nodes_reduce(enum call call, const struct reduction *r, int root, MPI_Comm comm);
int across_nodes_allreduce(enum call call, const struct reduction *r, MPI_Comm comm);

/* A call that is always left to the host if the communicator spans nodes. */
int across_nodes_none(enum call call, MPI_Comm comm);

#endif
