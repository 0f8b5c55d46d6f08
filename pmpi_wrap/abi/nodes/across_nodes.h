/* The collectives of communicators that span nodes (abi/nodes/hierarchy.h).
 *
 * Inside a node the ranks use their team, between nodes the host's own collectives on a lane. So
 * the host remains the only engine that uses the network, and sends one message per pair of nodes
 * where it would send one per pair of ranks. A call is fast here if
 *
 *   MPI_Barrier                     always
 *   MPI_Bcast                       the data have at most HIERARCHY_BCAST bytes, or more than
 *                                   QUIRK_BCAST_BY_NODE
 *   MPI_Gather, MPI_Scatter         all blocks fit, those of a node into HIERARCHY_AHEAD, and
 *                                   the nodes have equally many ranks
 *   MPI_Scatter                     also: the blocks of a node have at least HIERARCHY_SCATTER_MIN
 *                                   bytes, or some node's ranks do not follow each other
 *   MPI_Allgather                   all blocks fit, or the nodes have equally many ranks and one
 *                                   block per node has at most QUIRK_ALLGATHERV_BYTES bytes
 *   MPI_Allgatherv                  all blocks fit
 *   MPI_Alltoall                    all blocks of a node's ranks fit, and a block has at most
 *                                   HIERARCHY_BLOCK bytes
 *   MPI_Allreduce                   the operand fits, or the nodes have equally many ranks
 *   MPI_Reduce                      the nodes have equally many ranks, and the operand has at
 *                                   most HIERARCHY_BUFFER bytes
 *   MPI_Scan, MPI_Exscan            the nodes have equally many ranks, those of a node follow each
 *                                   other, and the operand fits and has more than
 *                                   QUIRK_SCAN_CHAIN bytes
 *   MPI_Reduce_scatter(_block)      the operand fits
 *
 * Data fit if they have at most HIERARCHY_ROOM bytes. They pass through the leaders of the nodes.
 * Longer data of MPI_Allreduce and MPI_Allgather travel on all lanes at once: each rank sends and
 * receives a segment, or its own block. MPI_Reduce uses the lane of the root: on several lanes, the
 * root would have to collect the segments, which took longer. The host counts elements with int, so
 * more than INT_MAX bytes are left to it.
 *
 * Reductions are fast if the operation and the datatype are predefined. MPI_Allreduce is also fast
 * with user-defined operations, if the operand fits into a cell and the operation commutes or the
 * ranks of every node follow each other.
 *
 * All this is equal on all ranks (H13: decisions from what is equal on all ranks). Other calls are
 * left to the host. A reduction combines the operands of each node first, in the order of their
 * ranks, and then those of the nodes.
 *
 * MPI_Alltoallv and MPI_Alltoallw, MPI_Gatherv and MPI_Scatterv are left to the host: no rank has
 * all their counts, so the ranks could decide only by exchanging them.
 *
 * Every function returns DEFERRED if the communicator does not span nodes or the call is left to
 * the host; in the second case it has counted the call.
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
int across_nodes_scan(enum call call, const struct reduction *r, bool exclusive, MPI_Comm comm);
int across_nodes_reduce_scatter(enum call call, struct reduction r,
                                const struct rank_blocks *results, MPI_Comm comm);

#endif
