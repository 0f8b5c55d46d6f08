/* The hierarchy of a communicator that spans nodes: a team of its ranks on each node, and
 * communicators of the host that connect the nodes.
 *
 * A lane has at most one rank of each node: lane i consists of the ranks with number i in the teams
 * of their nodes. A node with fewer ranks has no rank on lane i. Lane 0 is that of the leaders. The
 * nodes are in the order of their lowest ranks in the communicator, on every rank.
 *
 * A hierarchy is made in the exchange that also makes teams (abi/communicators/team_setup.h), but
 * only completed in a call that synchronises the ranks, because creating the lanes does. Its ranks
 * then agree whether all have succeeded.
 */
#ifndef MPIACCEL_HIERARCHY_H
#define MPIACCEL_HIERARCHY_H

#include "coll_inplace/team.h"
#include "pmpi_wrap/abi/host_api.h"

enum {
    HIERARCHY_ROOM = 65536, /* the most bytes of all ranks' blocks that pass through leaders */
    /* The most bytes of a node's blocks in MPI_Gather and MPI_Scatter, whose ranks may run ahead
     * (H15): hosts send so few bytes without waiting for the receiver. */
    HIERARCHY_AHEAD = 2048,
    /* MPI_Bcast: data of up to this length take a part of a cell (CELL_FEW). Longer data, up to the
     * value of QUIRK_BCAST_BY_NODE, are left to hosts that have this quirk. */
    HIERARCHY_BCAST = 4096,
    /* The fewest bytes of a node's blocks in MPI_Scatter: with fewer, nothing is gained if the
     * ranks of every node follow each other, since the hosts' trees then cross nodes as rarely. */
    HIERARCHY_SCATTER_MIN = 512,
    HIERARCHY_BLOCK = 4096,    /* the longest block in MPI_Alltoall: longer ones gain nothing */
    HIERARCHY_BUFFER = 524288, /* the longest operand in MPI_Reduce */
    HIERARCHIES_MAX = 64,      /* of a process: MPICH has about 2000 communicators */
    HIERARCHY_BUFFERS = 2,
};

struct hierarchy {
    struct team *node; /* the ranks of this node, in order */
    MPI_Comm lane;     /* of this rank */
    uint32_t size, rank, nodes, my_node;
    uint32_t largest; /* the most ranks on a node */
    bool equal;       /* all nodes have equally many ranks */
    bool consecutive; /* the ranks of every node follow each other */
    bool connected;
    uint32_t calls;                  /* that were fast: the same number on all ranks */
    int result;                      /* of this rank's last call of the host on its lane */
    char *buffer[HIERARCHY_BUFFERS]; /* of HIERARCHY_BUFFER bytes each; untouched pages are free */
    struct hierarchy *next, **link;  /* in the list of all hierarchies */
    /* By rank of the communicator: its node, its number in the team of that node, and its position
     * if all ranks are sorted by node. `first`, with one more entry than there are nodes: the
     * position of a node's first rank. `sorted`: the ranks by position. */
    uint32_t *node_of, *local, *position, *sorted, *first;
    int *lane_ranks, *lane_displs; /* room for an entry per node of the lane */
    int64_t *counts, *displs;      /* room for an entry per rank of this node */
};

/* The number of this communicator's ranks on node `n`. */
static inline uint32_t hierarchy_ranks_of(const struct hierarchy *h, uint32_t n)
{
    return h->first[n + 1] - h->first[n];
}

/* The part of a communicator that is on the node of this rank. */
struct node_part {
    uint32_t size, rank; /* number of its ranks, and the number of this one among them */
    int neighbour;       /* the member that follows this rank among them, cyclically */
};
void hierarchy_find_part(MPI_Comm comm, int size, struct node_part *part);

/* Make the hierarchy of a communicator. `leaders`: the node leader of each of its ranks
 * (node_leader()). Takes over `team`. NULL: no memory, and `team` remains. */
struct hierarchy *hierarchy_create(struct team *team, const int *leaders, uint32_t size,
                                   uint32_t rank);

/* Whether this process has HIERARCHIES_MAX already. */
bool hierarchies_are_many(void);

/* Collective: create the lanes. `h` is NULL if this rank has no memory; `tag` is the same on all
 * ranks. Returns whether all ranks have succeeded. */
bool hierarchy_connect(struct hierarchy *h, MPI_Comm comm, int tag);

/* Free the hierarchy, and leave its team. */
void hierarchy_free(struct hierarchy *h);

/* Call when the host has been finalized, and its handles are invalid. */
void hierarchies_finalized(void);

#endif
