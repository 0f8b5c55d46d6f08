/* How a quantity changed: its highest value in each of at most TIMELINE_LENGTH intervals of equal
 * length. When all intervals are used up, their length doubles, and each pair of adjacent intervals
 * becomes one. Intervals begin at multiples of their length on the clock of sync_now_ns(), so those
 * of the ranks of a node can be added. */
#ifndef MPIACCEL_TIMELINE_H
#define MPIACCEL_TIMELINE_H

#include "core/base.h"

enum { TIMELINE_LENGTH = 64, TIMELINE_SHORTEST_NS = 1000000 };

/* A timeline of zeros is empty. */
struct timeline {
    uint64_t interval; /* in nanoseconds; 0: empty */
    uint64_t first;    /* number of the first interval since the clock's zero */
    uint64_t count;    /* of intervals */
    uint64_t current;  /* value */
    uint64_t highest[TIMELINE_LENGTH];
};

/* Record that the quantity has this value from `now` on. `now` never decreases. */
void timeline_set(struct timeline *t, uint64_t now, uint64_t value);

/* Add another timeline. Before a timeline begins it counts as 0, and after its end its last value
 * remains. The sum of the highest values may be higher than the sum ever was. */
void timeline_add(struct timeline *sum, const struct timeline *more);

#endif
