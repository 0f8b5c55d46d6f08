#include "coll_inplace/tree.h"

/* How far `at` is behind `from` in a ring of n, and the contrary. */
static uint32_t behind(uint32_t at, uint32_t from, uint32_t n)
{
    return at >= from ? at - from : at + n - from;
}

static uint32_t after(uint32_t from, uint32_t distance, uint32_t n)
{
    return from + distance < n ? from + distance : from + distance - n;
}

/* Where a rank stands, seen from the root. */
struct stand {
    uint32_t domain, ranks; /* how many are there */
    uint32_t at;            /* among them */
    uint32_t unit;          /* whose first one it is; else, not less than there are units */
};

/* The place in a domain that others are counted from. */
static uint32_t head_of(const struct order *o, uint32_t domain, uint32_t root)
{
    return domain == o->domain[root] ? (uint32_t)o->place[root] - o->start[domain] : 0;
}

static struct stand stand_of(const struct order *o, uint32_t rank, uint32_t root)
{
    uint32_t domain = o->domain[rank], ranks = order_ranks_of(o, domain);
    uint32_t at = behind(o->place[rank] - o->start[domain], head_of(o, domain, root), ranks);
    uint32_t unit =
        at % o->unit ? o->units
                     : behind(o->first[domain] + at / o->unit, o->first[o->domain[root]], o->units);
    return (struct stand){domain, ranks, at, unit};
}

static uint32_t rank_at(const struct order *o, uint32_t domain, uint32_t at, uint32_t root)
{
    uint32_t ranks = order_ranks_of(o, domain);
    return o->rank[o->start[domain] + after(head_of(o, domain, root), at, ranks)];
}

/* The first rank of a unit, counted from the root's. */
static uint32_t first_of(const struct order *o, uint32_t unit, uint32_t root)
{
    uint32_t u = after(o->first[o->domain[root]], unit, o->units), low = 0, high = o->domains;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(o->first[middle] <= u ? &low : &high) = middle;
    }
    return rank_at(o, low, (u - o->first[low]) * o->unit, root);
}

uint32_t tree_children(const struct order *o, uint32_t rank, uint32_t root,
                       uint16_t children[TREE_CHILDREN_MAX])
{
    struct stand s = stand_of(o, rank, root);
    uint32_t count = 0, end = s.at - s.at % o->unit + o->unit, u = s.unit;
    end = end < s.ranks ? end : s.ranks;
    for (uint32_t step = 1; step < o->unit && s.at % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && s.at + j * step < end; j++)
            children[count++] = (uint16_t)rank_at(o, s.domain, s.at + j * step, root);
    for (uint32_t step = 1; u + step < o->units && u % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && u + j * step < o->units; j++)
            children[count++] = (uint16_t)first_of(o, u + j * step, root);
    return count;
}

struct tree_node tree_node(const struct order *o, uint32_t rank, uint32_t root)
{
    struct stand s = stand_of(o, rank, root);
    bool first = s.unit < o->units;
    uint32_t in_unit = s.at % o->unit;
    bool inner = in_unit % TREE_RADIX == 0 && in_unit + 1 < o->unit && s.at + 1 < s.ranks;
    if (!first)
        return (struct tree_node){rank_at(o, s.domain, s.at - in_unit + tree_parent(in_unit), root),
                                  inner};
    inner |= s.unit % TREE_RADIX == 0 && s.unit + 1 < o->units;
    return (struct tree_node){first_of(o, tree_parent(s.unit), root), inner};
}
