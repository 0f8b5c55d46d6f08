/* The properties of a communicator that decide whether its calls can be fast. */
#ifndef MPIACCEL_PROPERTIES_H
#define MPIACCEL_PROPERTIES_H

#include "core/stats.h"
#include "pmpi_wrap/abi/host_api.h"

struct comm_properties {
    int size, rank;
    int remote_size; /* of an intercommunicator: ranks of the other group; else 0 */
    int error;       /* of a handle that is no communicator; the host has reported it */
    int neighbour;  /* the member of the node that is the next rank, or a rank of the other group */
    uint64_t ranks; /* a hash of the members in the order of their ranks; 0 for a single rank */
};

/* REASON_NONE, or why nothing on this communicator can be fast, for example because it has more
 * than `max_ranks` ranks. All its ranks get the same answer, since it depends only on the
 * communicator and on facts that the node's ranks have agreed on (H13: decisions from what is equal
 * on all ranks). One harmless difference is possible: while the nodes are not connected, a
 * communicator with ranks of another job may get REASON_ONE_NODE_ONLY on some ranks and
 * REASON_FOREIGN on others. */
enum reason comm_properties_of(MPI_Comm comm, int max_ranks, struct comm_properties *properties);

/* comm_properties_of() for an intercommunicator; `max_ranks` limits each group. */
enum reason intercomm_properties_of(MPI_Comm comm, int max_ranks,
                                    struct comm_properties *properties);

#endif
