/* For a test that includes the source of a module: counts the blocks that the module allocates in
 * the control part of the node's file. */
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
    memset(at, 0, LINE); /* a rank that still reads it finds nothing */
    arena_control_free(at);
}
#define arena_control_alloc(size)               counted(arena_control_alloc(size))
#define arena_control_alloc_raw(size)           counted(arena_control_alloc_raw(size))
#define arena_control_free                      give_back
#define arena_control_free_written(at, written) ((void)(written), give_back(at))

#endif
