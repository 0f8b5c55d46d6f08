/* Where a block of malloc is. */
#ifndef WHERE_H
#define WHERE_H

#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>

enum { MINIMUM = 16384 }; /* the default of MPIACCEL_HEAP_MIN */

/* Whether the block is in a shared file of the library. */
static inline bool is_shared(const void *block)
{
    char line[512];
    unsigned long start, end;
    bool shared = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)block >= start &&
            (uintptr_t)block < end)
            shared |= strstr(line, "memfd:mpiaccel") != NULL;
    if (maps)
        fclose(maps);
    return shared;
}

/* Whether libmpiaccel_heap.so is in the process. */
static inline bool has_heap(void)
{
    return dlsym(RTLD_DEFAULT, "mpiaccel_malloc_heap_open_1");
}

static inline void fill(void *block, size_t size, unsigned seed)
{
    unsigned char *byte = block;
    for (size_t i = 0; i < size; i += i < 256 || size - i < 256 ? 1 : 97)
        byte[i] = (unsigned char)(seed + i);
}

static inline bool holds(const void *block, size_t size, unsigned seed)
{
    const unsigned char *byte = block;
    for (size_t i = 0; i < size; i += i < 256 || size - i < 256 ? 1 : 97)
        if (byte[i] != (unsigned char)(seed + i))
            return false;
    return true;
}

#endif
