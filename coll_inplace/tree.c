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
