/* The tree over the ranks of a team through which small data go up and down: the k-nomial tree over
 * ranks 0 .. n - 1 whose subtrees are ranges of ranks. The children of rank v are v + j * step for
 * the step (1, 8, 64, ...) of each level at which v is a multiple of 8 * step. With another root,
 * ranks are counted from it.
 */
#ifndef MPIACCEL_TREE_H
#define MPIACCEL_TREE_H

#include "core/base.h"

enum {
    TREE_RADIX = 8,
    TREE_FLAT = TREE_RADIX, /* teams of up to this many ranks have no tree: all read the root */
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

static inline struct tree_node tree_node(uint32_t size, uint32_t rank, uint32_t root)
{
    uint32_t v = rank >= root ? rank - root : rank + size - root;
    uint32_t parent = tree_parent(v) + root;
    return (struct tree_node){parent < size ? parent : parent - size,
                              v % TREE_RADIX == 0 && v + 1 < size};
}

#endif
