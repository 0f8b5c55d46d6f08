#include "core/order.h"

#include <stdlib.h>

size_t order_size(uint32_t size)
{
    return sizeof(struct order) + (4 * (size_t)size + 1) * sizeof(uint16_t);
}

static int compare(const void *one, const void *other)
{
    const struct located *a = one, *b = other;
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

void order_make(struct order *o, struct located *ranks, uint32_t size)
{
    qsort(ranks, size, sizeof *ranks, compare);
    o->rank = (uint16_t *)(o + 1);
    o->place = o->rank + size;
    o->domain = o->place + size;
    o->start = o->domain + size;
    for (uint32_t at = 0; at < size; at++) {
        uint32_t rank = ranks[at].rank;
        if (!at || ranks[at].domain != ranks[at - 1].domain)
            o->start[o->domains++] = (uint16_t)at;
        o->rank[at] = (uint16_t)rank;
        o->place[rank] = (uint16_t)at;
        o->domain[rank] = (uint16_t)(o->domains - 1);
    }
    o->start[o->domains] = (uint16_t)size;
    for (uint32_t d = 0; d < o->domains; d++)
        if (order_ranks_of(o, d) > o->largest)
            o->largest = order_ranks_of(o, d);
}
