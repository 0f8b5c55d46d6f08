/* A set of unused address ranges. Neighbours are joined, so memory that was given back in small
 * pieces can be taken as a large one. The caller serialises the calls.
 *
 * A fragmented heap may have about as many unused ranges as blocks in use. So the set is a treap: a
 * tree that is sorted by address, in which each node has a higher priority than its children. The
 * priority is a hash of the address, so the expected depth is O(log n) for any order of calls.
 * ranges_take() visits more nodes if ranges are long enough, but not aligned.
 */
#ifndef MPIACCEL_RANGES_H
#define MPIACCEL_RANGES_H

#include "core/base.h"

struct range {
    char *start;
    size_t size, largest; /* largest: size of the largest range of this subtree */
    uint64_t priority;
    struct range *left, *right; /* lower and higher addresses */
};

struct ranges {
    struct range *root;  /* no two ranges are adjacent */
    struct range *spare; /* structures that are not in use, linked by `left` */
};

/* Add a range to the set. False: no memory for its structure, and the range is not in the set. */
bool ranges_give(struct ranges *ranges, char *start, size_t size);

/* Take the lowest range that fits; `align` is a power of two. NULL: there is none, or no memory for
 * a structure. */
char *ranges_take(struct ranges *ranges, size_t size, size_t align);

/* Take the range with the highest addresses if it ends at `end`. NULL: it ends elsewhere, or there
 * is none. */
char *ranges_take_last(struct ranges *ranges, const char *end);

/* Empty the set, and free all its structures. */
void ranges_clear(struct ranges *ranges);

#endif
