/* The tree over the ranks of a team along which few data go up and down.
 *
 * Without domains: the k-nomial tree over ranks 0 .. n - 1 whose subtrees are ranges of ranks: the
 * children of v are v + j * step for each level's step (1, 8, 64, …) at which v is a multiple of
 * 8 * step.
 *
 * With domains there is such a tree over the units of core/order.h, from the root's domain on, and
 * one over the ranks of each unit, whose first one hears another unit's first. Places of the root's
 * domain are counted from the root.
 */
#ifndef MPIACCEL_TREE_H
#define MPIACCEL_TREE_H

#include "core/order.h"

enum {
    TREE_RADIX = ORDER_RADIX,
    TREE_FLAT = TREE_RADIX, /* up to so many ranks need none: all hear the root */
    TREE_CHILDREN_MAX = 64,
};

static inline uint32_t tree_parent(uint32_t v)
{
    uint32_t step = TREE_RADIX;
    while (v % step == 0)
        step *= TREE_RADIX;
    return v - v % step;
}

/* Where a rank stands in the tree of a root: not the root itself. */
struct tree_node {
    uint32_t parent;
    bool inner; /* it has children */
};
struct tree_node tree_node(const struct order *order, uint32_t rank, uint32_t root);

/* The children of a rank, the root or not, and how many they are. */
uint32_t tree_children(const struct order *order, uint32_t rank, uint32_t root,
                       uint16_t children[TREE_CHILDREN_MAX]);

#endif
