/* Whether the ranks of a node have a processor each.
 *
 * They do not if several may run on the same few processors only, or if the OS limits their
 * processor time (the cgroup of a container or of a batch job). All ranks compare the same records,
 * so they come to the same result.
 */
#ifndef MPIACCEL_PROCESSORS_H
#define MPIACCEL_PROCESSORS_H

#include "core/base.h"

enum { PROCESSORS_MAX = 8192 };

/* The processors that one rank may use. */
struct processors {
    uint64_t mask[PROCESSORS_MAX / 64]; /* its affinity */
    uint64_t cgroup;                    /* identifies the cgroup that limits its time */
    uint32_t thousandths; /* of a processor, for all processes of the cgroup; 0: no limit */
};

/* Fill in the record of the calling thread. */
void processors_read(struct processors *mine);

/* Whether the affinity mask has all processors of the machine. */
bool processors_are_all(const struct processors *processors);

enum shortage_cause { SHORTAGE_NONE, SHORTAGE_AFFINITY, SHORTAGE_QUOTA };

/* So many ranks share so many thousandths of a processor. */
struct shortage {
    enum shortage_cause cause;
    uint32_t ranks, thousandths;
    bool confined; /* some ranks share processors, independently of a quota */
};

/* Returns the worst shortage among `ranks` ranks. `of` returns the record of each, from rank 0
 * on. */
struct shortage processors_shortage(uint32_t ranks, const struct processors *of(uint32_t rank));

/* "4 ranks share 2 processors" */
void shortage_describe(const struct shortage *shortage, char *text, size_t room);

#endif
