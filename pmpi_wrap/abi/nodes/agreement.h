/* Whether the library is on all nodes of the job.
 *
 * If the host starts through PMIx, each rank puts a key before the host's fence, and finds those of
 * the others after it (pmpi_wrap/pmix_fence.h). Otherwise the leaders of the nodes agree by names
 * (node/verdict.h), which MPI_Publish_name and MPI_Lookup_name exchange through the launcher. The
 * leader of a node is its rank with the lowest number in MPI_COMM_WORLD. The leader finds the
 * verdict for its whole node, by keys if it can use them itself, otherwise by names.
 *
 * Each leader writes the verdict to its own record in the node's shared file, where the other ranks
 * of the node wait for it in MPI_Init, too. A rank that shares no memory finds the keys itself, so
 * that it takes part in the collective call that follows if all are there. Such a rank takes no
 * part in the exchange of names, and its node publishes none, because its leader shares no memory
 * either.
 *
 * Keys and names contain the version and the settings on which decisions depend, so that nodes that
 * would decide differently do not agree. Names also contain the job. Those of Open MPI and MPICH
 * are kept by the job's mpirun, where a job of MPI_Comm_spawn finds them too, so such a job uses
 * none. Neither does a job of another launcher, whose names are not tested. A job of sessions
 * without MPI_Init takes no part.
 */
#ifndef MPIACCEL_AGREEMENT_H
#define MPIACCEL_AGREEMENT_H

#include "core/stats.h"
#include "pmpi_wrap/abi/host_api.h"

#define AGREEMENT_PATIENCE_NS UINT64_C(1000000000)

/* Call before the host's MPI_Init. */
void nodes_enter(void);

/* Find out whether the library is on all nodes. Call in MPI_Init when the node has settled. If the
 * verdict is positive, this function ends with collective calls on MPI_COMM_WORLD. */
void nodes_agree(void);

/* Why communicators that span nodes are left to the host. REASON_NONE: they may be fast, and all
 * ranks get this result. */
enum reason nodes_why_not(void);

/* A communicator of all ranks of the world, for communicators of this library. Its error handler
 * returns. Call only if nodes_why_not() is REASON_NONE. */
MPI_Comm nodes_comm(void);

/* Call when the host has been finalized. */
void nodes_finalized(void);

/* The lowest rank in MPI_COMM_WORLD that is on the node of this rank. */
int node_leader(void);

#endif
