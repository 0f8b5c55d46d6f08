/* An address range from which one jemalloc arena allocates: part of a file that other processes
 * map.
 *
 * jemalloc asks for extents and returns them through the hooks of the region. An extent that comes
 * back is a hole of the file, and its addresses are joined with their neighbours, so that a later
 * extent of any size can use them (docs/decisions/003-private-jemalloc.md). jemalloc may call the
 * hooks from several threads; each region has its own mutex.
 *
 * In a child of fork() no pages are freed: they belong to the parent's file. Another thread may
 * have been modifying the unused ranges at fork, so the child abandons them (H6: fork).
 */
#ifndef MPIACCEL_REGION_H
#define MPIACCEL_REGION_H

#include "alloc/ranges.h"

#include <jemalloc/jemalloc.h>
#include <pthread.h>

#define je(name) mpiaccel_je_##name /* the library's private copy of jemalloc */

/* Free the pages of a range, so that they read as zeroes. False: not possible. */
typedef bool drop_pages(char *at, size_t size);

struct region {
    extent_hooks_t hooks; /* the first member: hooks use its address as the region's */
    pthread_mutex_t mutex;
    struct ranges unused;     /* holes of the file below `next`; none ends there */
    _Atomic uint64_t granted; /* bytes that jemalloc has now */
    char *start, *next, *end;
    /* Core files contain the pages before this address, and their part of `map` may be written. */
    char *_Atomic prepared;
    uint8_t *map; /* for the user of the region: a byte per `map_unit` bytes; NULL: none */
    size_t map_unit;
    drop_pages *drop;
    bool advises_huge_pages; /* to the OS */
    unsigned arena;
    _Atomic bool has_arena;
    pthread_mutex_t purge_mutex;
    struct region *next_region; /* in the list of all regions with arenas */
};

/* Prepare [start, start + size) for an arena. `map_unit` 0: without a map. The structure must live
 * as long as the process, and is opened once. False: there is no memory; the structure is then all
 * zeroes. */
bool region_open(struct region *r, char *start, size_t size, size_t map_unit, drop_pages *drop);

/* Create the arena, which costs 25 page faults. False: there is no memory. */
bool region_create_arena(struct region *r);

/* Undo region_open(). Call it only before region_create_arena() has succeeded. */
void region_close(struct region *r);

/* Free the pages of a part of the region. False: not possible; the content is as before. */
bool region_drop(struct region *r, char *at, size_t size);

/* Return all unused pages to the OS and their addresses to `unused`. */
void region_purge(struct region *r);

#endif
