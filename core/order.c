#include "core/order.h"

#include <stdlib.h>

size_t order_size(uint32_t size)
{
    return sizeof(struct order) + (5 * (size_t)size + 2) * sizeof(uint16_t);
}

static int compare(const void *one, const void *other)
{
    const struct located *a = one, *b = other;
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Divide all domains into units of `unit` ranks. Returns the number of units. */
static uint32_t divide_domains(struct order *o, uint32_t unit)
{
    o->unit = unit;
    for (uint32_t d = 0; d < o->domains; d++)
        o->first[d + 1] = (uint16_t)(o->first[d] + (order_ranks_of(o, d) + unit - 1) / unit);
    return o->units = o->first[o->domains];
}

void order_make(struct order *o, struct located *ranks, uint32_t size)
{
    qsort(ranks, size, sizeof *ranks, compare);
    o->rank = (uint16_t *)(o + 1);
    o->place = o->rank + size;
    o->domain = o->place + size;
    o->start = o->domain + size;
    o->first = o->start + size + 1;
    for (uint32_t position = 0; position < size; position++) {
        uint32_t rank = ranks[position].rank;
        if (!position || ranks[position].domain != ranks[position - 1].domain)
            o->start[o->domains++] = (uint16_t)position;
        o->rank[position] = (uint16_t)rank;
        o->place[rank] = (uint16_t)position;
        o->domain[rank] = (uint16_t)(o->domains - 1);
    }
    o->start[o->domains] = (uint16_t)size;
    uint32_t most = o->domains > ORDER_RADIX ? o->domains : ORDER_RADIX, unit = 1;
    while (divide_domains(o, unit) > most)
        unit *= ORDER_RADIX;
}
