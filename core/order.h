/* The ranks of a team by the domain that they run in, so that what goes from rank to rank crosses
 * from one domain to another as seldom as can be. Ranks of one number are of one domain; of one
 * domain, ranks stand in their own order. All ranks of a team have the same.
 */
#ifndef MPIACCEL_ORDER_H
#define MPIACCEL_ORDER_H

#include "core/base.h"

enum { ORDER_RADIX = 8 }; /* of trees and barriers */

/* The places of a domain are cut into units of `unit` ranks, the last one of fewer: as few ranks,
 * a power of the radix, as leave no more than a radix of units in all; where there are more domains
 * than that, each is one unit. What goes through units first and then from unit to unit takes no
 * more steps than without domains, as a rule, and one of them from domain to domain. */
struct order {
    uint32_t domains, unit, units;
    uint16_t *rank;   /* at each place */
    uint16_t *place;  /* of each rank */
    uint16_t *domain; /* of each rank */
    uint16_t *start;  /* of each domain, its first place; and the end of the last one */
    uint16_t *first;  /* the same in units */
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

static inline uint32_t order_units_of(const struct order *o, uint32_t domain)
{
    return (uint32_t)o->first[domain + 1] - o->first[domain];
}

#endif
