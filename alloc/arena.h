/* The memory of MPI_Alloc_mem: jemalloc arenas in this process's slice of the node's file.
 *
 * jemalloc is a private copy (its names begin with mpiaccel_je_): the program's malloc, and any
 * other jemalloc in the process, never meet it. All that it knows of an allocation lies in private
 * memory; the file holds nothing but what was asked for (H22). There are two arenas: the program's
 * heap, and the control part, from which windows take what they share.
 *
 * Addresses handed out are multiples of ARENA_GRAIN, and one byte for each such place says whether
 * an allocation starts there. So a pointer that is ours but not live (freed twice, or into the
 * middle of an allocation) is recognised and refused (H27).
 *
 * Memory given back: up to ARENA_KEEP bytes of what was freed stay ready for the next allocation;
 * beyond that the pages go back to the system, by a hole in the file (H28).
 */
#ifndef MPIACCEL_ARENA_H
#define MPIACCEL_ARENA_H

#include "core/base.h"

enum { ARENA_GRAIN = 64 };
#define ARENA_KEEP ((size_t)32 << 20)

/* Take over a slice whose first `control` bytes are the control part; the program may have up to
 * `limit` bytes. False: no memory for the book-keeping; then every allocation fails. */
bool arena_open(char *slice, size_t size, size_t control, size_t limit);

/* `align` is a power of two. NULL: no room. Size 0 gives a pointer that can be freed. */
void *arena_alloc(size_t size, size_t align);

enum arena_answer {
    ARENA_FREED,
    ARENA_FOREIGN, /* never ours */
    ARENA_BAD,     /* ours, but not the start of a live allocation; nothing was done */
};
enum arena_answer arena_free(void *at);

/* From the control part: line-aligned; zeroed, or holding anything. NULL: no room. */
void *arena_control_alloc(size_t size);
void *arena_control_alloc_raw(size_t size);
void arena_control_free(void *at);

/* The symmetric heap, of the PE that decides for all. Nothing is read or written in [start, start +
 * size): it only stands for offsets. `drop` frees the pages behind a part of it, everywhere. */
bool arena_symmetric_open(char *start, size_t size, bool (*drop)(char *at, size_t size));
void *arena_symmetric_alloc(size_t size, size_t align);
bool arena_symmetric_resize(void *at, size_t size); /* without moving it */
size_t arena_symmetric_usable(void *at);
void arena_symmetric_free(void *at);

struct arena_use {
    uint64_t live, peak, allocations;
};
struct arena_use arena_use(void);

#endif
