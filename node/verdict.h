/* Whether the library is on all nodes of the job: the leaders of the nodes agree through names,
 * which a launcher serves.
 *
 * A rank without the library must not make another one wait, so no rank may be asked by a message
 * or a collective of the host before it is certain that all ranks have the library. Inside a node
 * this is certain, because its ranks have met. One of them leads the node in this protocol; rank 0
 * is a leader.
 *
 *   1. Rank 0 publishes BEGUN.
 *   2. Every other leader looks for BEGUN, for at most `patience_ns`. If the leader does not find
 *      BEGUN, nothing spans nodes. Otherwise it publishes which ranks its node has. From then on
 *      only rank 0 decides for this node, even if the service has reported an error: the name may
 *      be there all the same. The leader looks for the verdict without a limit, because rank 0 has
 *      the library and publishes one.
 *   3. Rank 0 looks for the nodes' names, for at most `patience_ns`: for that of the lowest rank
 *      that is still missing. Then it publishes the verdict: whether it has found all ranks.
 *
 * So no two nodes disagree, whatever is late: a leader that misses BEGUN publishes nothing, and
 * then the verdict is negative. If rank 0 dies, its job ends, and with it those who wait. The model
 * is in pmpi_wrap/model/agreement.pml.
 *
 * A service may lose a name, or report an error for a name that it has stored. So a name counts as
 * published when a look-up finds it. Rank 0 publishes the verdict up to ATTEMPTS times until a
 * look-up finds it. If none does, the verdict is negative, and rank 0 removes BEGUN. Leaders that
 * find neither BEGUN nor the verdict ATTEMPTS times in a row, over `patience_ns`, take the verdict
 * as negative. Not handled: a publication that has failed and takes effect later, a service that
 * never finds the verdict for one leader, and a service that serves BEGUN but neither publishes nor
 * removes names, for which leaders wait.
 *
 * A service may still have the names of an earlier job. So the value of BEGUN is different each
 * time, and part of all later names (`session`).
 *
 * Some launchers serve no names. Each leader finds that out by a name of its own, PROBE, so that it
 * need not wait for BEGUN there.
 */
#ifndef MPIACCEL_VERDICT_H
#define MPIACCEL_VERDICT_H

#include "core/layout.h"

/* A value must be shorter than MPI_MAX_PORT_NAME, which is 256 in MPICH. A name contains a value,
 * the session. */
enum { VERDICT_NAME_BYTES = 320, VERDICT_VALUE_BYTES = 200 };

/* Each returns whether the service reports success. */
struct name_service {
    bool (*publish)(const char *name, const char *value);
    bool (*look_up)(const char *name, char value[VERDICT_VALUE_BYTES]); /* false: no such name */
    bool (*remove)(const char *name, const char *value);
};

struct leader {
    const struct name_service *names;
    uint64_t job; /* part of the names; different in jobs that share a service or cannot agree */
    int rank, world_size;
    long nodes;        /* about how many nodes there are */
    const char *ranks; /* of its node: verdict_write_ranks() */
    uint64_t patience_ns;
    char session[VERDICT_VALUE_BYTES]; /* set by verdict_find() */
};

/* Find the verdict. Call on the leader of each node. NODES_ALL: all ranks have the library; then
 * all leaders get this result. NODES_NOT_ALL: at least one rank lacks the library or was late.
 * NODES_NO_NAMES: this launcher serves no names, so it is not known whether all ranks have the
 * library. */
enum nodes_verdict verdict_find(struct leader *l);

/* Write the ranks of a node as "FIRST.NUMBER.STEP", joined by "_". False: too long. */
bool verdict_write_ranks(char text[VERDICT_VALUE_BYTES], int world_size, bool (*is_here)(int rank));

#endif
