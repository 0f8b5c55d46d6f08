/* The order of the ranks of a team by domain. Trees and barriers that follow it cross from one
 * domain to another as seldom as possible. Ranks with the same domain number are in one domain and
 * stand in the order of their ranks. All ranks of a team compute the same order.
 */
#ifndef MPIACCEL_ORDER_H
#define MPIACCEL_ORDER_H

#include "core/base.h"

enum { ORDER_RADIX = 8 }; /* of trees and barriers */

/* Each domain is divided into units of `unit` ranks; its last unit may be smaller. `unit` is the
 * smallest power of the radix for which all domains together have at most ORDER_RADIX units; with
 * more domains than that, each domain is one unit. A tree or barrier first runs inside the units
 * and then between them. As a rule that takes no more steps than without domains, and only one of
 * them crosses domains. */
struct order {
    uint32_t domains, unit, units;
    uint16_t *rank;   /* by position: the rank */
    uint16_t *place;  /* by rank: its position */
    uint16_t *domain; /* by rank: its domain, 0 .. domains - 1 */
    uint16_t *start;  /* by domain: position of its first rank; one more entry for the end */
    uint16_t *first;  /* by domain: number of its first unit; one more entry for the end */
};

struct located {
    uint64_t domain; /* any number that identifies it */
    uint32_t rank;
};

/* Bytes needed for the order of `size` ranks, at most 65535. */
size_t order_size(uint32_t size);

/* Build the order of the ranks 0 to size - 1 in `order`, which must be order_size() bytes of zeroed
 * memory. `ranks` contains all ranks in any order; the call sorts it. */
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
