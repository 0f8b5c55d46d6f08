#include "coll_inplace/tree.h"

static bool has_children(uint32_t v, uint32_t n)
{
    return v % TREE_RADIX == 0 && v + 1 < n;
}

/* How far `at` is behind `from` in a ring of n, and the contrary. */
static uint32_t behind(uint32_t at, uint32_t from, uint32_t n)
{
    return at >= from ? at - from : at + n - from;
}

static uint32_t after(uint32_t from, uint32_t distance, uint32_t n)
{
    return from + distance < n ? from + distance : from + distance - n;
}

struct tree_node tree_node(const struct order *o, uint32_t rank, uint32_t root)
{
    uint32_t domain = o->domain[rank], home = o->domain[root];
    uint32_t first = o->start[domain], ranks = order_ranks_of(o, domain);
    uint32_t head = domain == home ? o->place[root] - first : 0;
    uint32_t v = behind(o->place[rank] - first, head, ranks);
    bool inner = has_children(v, ranks);
    if (v)
        return (struct tree_node){o->rank[first + after(head, tree_parent(v), ranks)], inner};
    uint32_t w = behind(domain, home, o->domains);
    uint32_t above = after(home, tree_parent(w), o->domains);
    return (struct tree_node){above == home ? root : o->rank[o->start[above]],
                              inner || has_children(w, o->domains)};
}

uint32_t tree_children(const struct order *o, uint32_t rank, uint32_t root,
                       uint16_t children[TREE_CHILDREN_MAX])
{
    uint32_t domain = o->domain[rank], home = o->domain[root], count = 0;
    uint32_t first = o->start[domain], ranks = order_ranks_of(o, domain);
    uint32_t head = domain == home ? o->place[root] - first : 0;
    uint32_t v = behind(o->place[rank] - first, head, ranks), w = behind(domain, home, o->domains);
    for (uint32_t step = 1; v % (step * TREE_RADIX) == 0 && v + step < ranks; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && v + j * step < ranks; j++)
            children[count++] = o->rank[first + after(head, v + j * step, ranks)];
    for (uint32_t step = 1; !v && w % (step * TREE_RADIX) == 0 && w + step < o->domains;
         step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && w + j * step < o->domains; j++)
            children[count++] = o->rank[o->start[after(home, w + j * step, o->domains)]];
    return count;
}
