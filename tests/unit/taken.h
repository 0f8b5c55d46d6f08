/* For a test that includes a module's source: what the module takes from the control part is
 * counted. */
#ifndef UNIT_TAKEN_H
#define UNIT_TAKEN_H

#include "alloc/arena.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic int taken;

static inline void *counted(void *at)
{
    taken += at != NULL;
    return at;
}

static inline void give_back(void *at)
{
    taken--;
    memset(at, 0, LINE); /* who still looks sees nothing there */
    arena_control_free(at);
}
#define arena_control_alloc(size)     counted(arena_control_alloc(size))
#define arena_control_alloc_raw(size) counted(arena_control_alloc_raw(size))
#define arena_control_free            give_back

#endif
