/* Ranges of addresses that nobody uses, joined with their neighbours: what was given back in small
 * pieces can be taken as a large one. The caller sees to it that one thread at a time is here. */
#ifndef MPIACCEL_RANGES_H
#define MPIACCEL_RANGES_H

#include "core/base.h"

struct range {
    char *at;
    size_t size;
};

struct ranges {
    struct range *list; /* in the order of addresses; no two touch */
    size_t count, room;
};

/* False: no memory to remember it; the range stays the caller's. */
bool ranges_give(struct ranges *ranges, char *at, size_t size);

/* The lowest that fits; `align` is a power of two. NULL: none, or no memory to remember the rest.
 */
char *ranges_take(struct ranges *ranges, size_t size, size_t align);

#endif
