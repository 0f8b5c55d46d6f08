/* A set of unused address ranges. Neighbours are joined, so memory that was given back in small
 * pieces can be taken as a large one. The caller serialises the calls. */
#ifndef MPIACCEL_RANGES_H
#define MPIACCEL_RANGES_H

#include "core/base.h"

struct range {
    char *start;
    size_t size;
};

struct ranges {
    struct range *list; /* sorted by address; no two are adjacent */
    size_t count, room;
};

/* Add a range to the set. False: no memory for the list, and the range is not in the set. */
bool ranges_give(struct ranges *ranges, char *start, size_t size);

/* Take the lowest range that fits; `align` is a power of two. NULL: there is none, or no memory for
 * the list. */
char *ranges_take(struct ranges *ranges, size_t size, size_t align);

/* Take the range with the highest addresses if it ends at `end`. NULL: it ends elsewhere, or there
 * is none. */
char *ranges_take_last(struct ranges *ranges, const char *end);

#endif
