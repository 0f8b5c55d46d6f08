#include "coll_inplace/tree.h"

/* In a ring of n positions: the distance from `from` to `to`, and the position at a distance. */
static uint32_t ring_distance(uint32_t from, uint32_t to, uint32_t n)
{
    return to >= from ? to - from : to + n - from;
}

static uint32_t ring_advance(uint32_t from, uint32_t steps, uint32_t n)
{
    return from + steps < n ? from + steps : from + steps - n;
}

/* The position of a rank relative to the root. */
struct position {
    uint32_t domain, ranks; /* its domain, and the number of ranks in it */
    uint32_t at;            /* position in the domain */
    uint32_t unit;          /* the unit whose first rank it is; `units`: it is not the first one */
};

/* The place in a domain from which positions are counted. */
static uint32_t head_of(const struct order *o, uint32_t domain, uint32_t root)
{
    return domain == o->domain[root] ? (uint32_t)o->place[root] - o->start[domain] : 0;
}

static struct position position_of(const struct order *o, uint32_t rank, uint32_t root)
{
    uint32_t domain = o->domain[rank], ranks = order_ranks_of(o, domain);
    uint32_t at = ring_distance(head_of(o, domain, root), o->place[rank] - o->start[domain], ranks);
    uint32_t unit = at % o->unit ? o->units
                                 : ring_distance(o->first[o->domain[root]],
                                                 o->first[domain] + at / o->unit, o->units);
    return (struct position){domain, ranks, at, unit};
}

static uint32_t rank_at(const struct order *o, uint32_t domain, uint32_t at, uint32_t root)
{
    uint32_t ranks = order_ranks_of(o, domain);
    return o->rank[o->start[domain] + ring_advance(head_of(o, domain, root), at, ranks)];
}

/* The first rank of a unit; units are counted from the root's. */
static uint32_t first_rank_of(const struct order *o, uint32_t unit, uint32_t root)
{
    uint32_t u = ring_advance(o->first[o->domain[root]], unit, o->units), low = 0,
             high = o->domains;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(o->first[middle] <= u ? &low : &high) = middle;
    }
    return rank_at(o, low, (u - o->first[low]) * o->unit, root);
}

uint32_t tree_children(const struct order *o, uint32_t rank, uint32_t root,
                       uint16_t children[TREE_CHILDREN_MAX])
{
    struct position p = position_of(o, rank, root);
    uint32_t count = 0, end = p.at - p.at % o->unit + o->unit, u = p.unit;
    end = end < p.ranks ? end : p.ranks;
    for (uint32_t step = 1; step < o->unit && p.at % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && p.at + j * step < end; j++)
            children[count++] = (uint16_t)rank_at(o, p.domain, p.at + j * step, root);
    for (uint32_t step = 1; u + step < o->units && u % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && u + j * step < o->units; j++)
            children[count++] = (uint16_t)first_rank_of(o, u + j * step, root);
    return count;
}

struct tree_node tree_node(const struct order *o, uint32_t rank, uint32_t root)
{
    struct position p = position_of(o, rank, root);
    bool first = p.unit < o->units;
    uint32_t in_unit = p.at % o->unit;
    bool inner = in_unit % TREE_RADIX == 0 && in_unit + 1 < o->unit && p.at + 1 < p.ranks;
    if (!first)
        return (struct tree_node){rank_at(o, p.domain, p.at - in_unit + tree_parent(in_unit), root),
                                  inner};
    inner |= p.unit % TREE_RADIX == 0 && p.unit + 1 < o->units;
    return (struct tree_node){first_rank_of(o, tree_parent(p.unit), root), inner};
}
