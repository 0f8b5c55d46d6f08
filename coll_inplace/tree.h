/* The tree over the ranks of a team through which small data go up and down.
 *
 * Without domains it is the k-nomial tree over ranks 0 .. n - 1 whose subtrees are ranges of ranks:
 * the children of rank v are v + j * step for the step (1, 8, 64, ...) of each level at which v is
 * a multiple of 8 * step.
 *
 * With domains there is such a tree over the units of core/order.h, which starts with the root's
 * domain, and one over the ranks of each unit. The parent of the first rank of a unit is the first
 * rank of another unit. Positions in the root's domain are counted from the root.
 */
#ifndef MPIACCEL_TREE_H
#define MPIACCEL_TREE_H

#include "core/order.h"

enum {
    TREE_RADIX = ORDER_RADIX,
    TREE_FLAT = TREE_RADIX, /* teams of up to this many ranks have no tree: all read the root */
    TREE_CHILDREN_MAX = 64,
};

static inline uint32_t tree_parent(uint32_t v)
{
    uint32_t step = TREE_RADIX;
    while (v % step == 0)
        step *= TREE_RADIX;
    return v - v % step;
}

/* The position of a rank, other than the root, in the tree of a root. */
struct tree_node {
    uint32_t parent;
    bool inner; /* it has children */
};
struct tree_node tree_node(const struct order *order, uint32_t rank, uint32_t root);

/* Store the children of any rank; return their number. */
uint32_t tree_children(const struct order *order, uint32_t rank, uint32_t root,
                       uint16_t children[TREE_CHILDREN_MAX]);

#endif
