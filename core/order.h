/* The ranks of a team by the domain that they run in, so that what goes from rank to rank crosses
 * from one domain to another as seldom as can be. Ranks of one number are of one domain; of one
 * domain, ranks stand in their own order. All ranks of a team have the same.
 */
#ifndef MPIACCEL_ORDER_H
#define MPIACCEL_ORDER_H

#include "core/base.h"

struct order {
    uint32_t domains, largest; /* how many there are, how many ranks one has at most */
    uint16_t *rank;            /* at each place */
    uint16_t *place;           /* of each rank */
    uint16_t *domain;          /* of each rank */
    uint16_t *start;           /* of each domain, its first place; and the end of the last one */
};

struct located {
    uint64_t domain; /* any number */
    uint32_t rank;
};

/* How many bytes it takes for `size` ranks, up to 65535. */
size_t order_size(uint32_t size);

/* In zeroed memory of that size; `ranks`, of ranks 0 .. size - 1 in any order, are sorted. */
void order_make(struct order *order, struct located *ranks, uint32_t size);

static inline uint32_t order_ranks_of(const struct order *o, uint32_t domain)
{
    return (uint32_t)o->start[domain + 1] - o->start[domain];
}

#endif
