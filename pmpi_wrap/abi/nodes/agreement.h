/* Whether the library is on all nodes of the job.
 *
 * A rank without the library must not make another one wait, so nobody may be asked by a message or
 * a collective of the host before it is known that all ranks have the library. The ranks of one
 * node know this of each other when MPI_Init has settled the node. Nodes find out through names,
 * which MPI_Publish_name and MPI_Lookup_name exchange through the launcher. The leader of a node is
 * its rank with the lowest number in MPI_COMM_WORLD.
 *
 *   1. Rank 0, a leader, publishes BEGUN.
 *   2. Every other leader looks for BEGUN, for at most AGREEMENT_PATIENCE_NS. If it does not find
 *      it, nothing spans nodes. If it does, it publishes which ranks its node has, and then looks
 *      for the verdict without a limit: rank 0 has the library, and has promised one.
 *   3. Rank 0 looks for the nodes' names, for at most AGREEMENT_PATIENCE_NS: for that of the lowest
 *      rank that it has not heard of. Then it publishes the verdict: whether that was all ranks.
 *
 * So no two nodes disagree, whatever is late: a leader that misses BEGUN publishes nothing, and
 * then the verdict is negative. If rank 0 dies, its job ends, and with it those who wait. The model
 * is in pmpi_wrap/model/agreement.pml.
 *
 * Each leader writes the verdict to its own record in the node's shared file, where the other ranks
 * of the node wait for it in MPI_Init, too. A rank that shares no memory takes no part, and its
 * node publishes nothing, because its leader is a rank that shares no memory either.
 *
 * Names contain the job. Those of Open MPI and MPICH are kept by the job's mpirun, where a job of
 * MPI_Comm_spawn finds them too; it takes no part. Neither does a job of sessions without MPI_Init,
 * or one that Slurm has started, whose names are not tested.
 */
#ifndef MPIACCEL_AGREEMENT_H
#define MPIACCEL_AGREEMENT_H

#include "pmpi_wrap/abi/host_api.h"

#define AGREEMENT_PATIENCE_NS UINT64_C(1000000000)

/* In MPI_Init, when the node has settled. If the verdict is positive, this function ends with
 * collective calls on MPI_COMM_WORLD. */
void nodes_agree(void);

/* Whether communicators that span nodes may be fast: the same on all ranks. */
bool nodes_have_agreed(void);

/* A communicator of all ranks of the world, for communicators of this library. Its error handler
 * returns. Only if nodes_have_agreed(). */
MPI_Comm nodes_comm(void);

/* Before the host is finalized. */
void nodes_close(void);

/* The lowest rank in MPI_COMM_WORLD that is on the node of this rank. */
int node_leader(void);

#endif
