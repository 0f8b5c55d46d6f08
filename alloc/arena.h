/* The memory of MPI_Alloc_mem: jemalloc arenas in this process's slice of the node's file.
 *
 * jemalloc is a private copy (its names begin with mpiaccel_je_), separate from the program's
 * malloc and from any other jemalloc in the process. All its metadata are in private memory; the
 * file holds the allocations only (H22: a writer that overruns its window must not reach the
 * metadata of another process). There are four arenas: the program's heap; the control part, from
 * which windows and teams allocate the memory they share; the early heap, for allocations before
 * the node has settled; and, on PE 0, the symmetric heap (alloc/symmetric.h).
 *
 * Addresses of allocations are multiples of ARENA_GRAIN, and a byte map records for each such
 * address whether an allocation starts there. So a pointer into the heap that is not the start of a
 * live allocation (freed twice, or interior) is detected and refused (H27: it must corrupt
 * nothing).
 *
 * Up to ARENA_KEEP bytes of freed memory stay ready for the next allocations of the process. Beyond
 * that the pages are returned to the OS by punching holes in the file (H28: memory that is freed
 * must really be returned). A thread can return the blocks in its own cache only, so every other
 * thread may keep up to ARENA_CACHE bytes in addition.
 * The control part keeps less, ARENA_CONTROL_KEEP bytes.
 */
#ifndef MPIACCEL_ARENA_H
#define MPIACCEL_ARENA_H

#include "core/base.h"

enum { ARENA_GRAIN = 64 };
#define ARENA_KEEP         ((size_t)32 << 20)
#define ARENA_CACHE        ((size_t)16 << 20)
#define ARENA_CONTROL_KEEP ((size_t)2 << 20)

/* Manage a slice whose first `control` bytes are the control part; the program may allocate up to
 * `limit` bytes. False: no memory for the metadata; then every allocation fails. The metadata of
 * the program's heap are created by its first allocation; without memory for them, arena_alloc()
 * always returns NULL. Either case is logged. */
bool arena_open(char *slice, size_t size, size_t control, size_t limit);

/* Allocate from the program's heap. `align` is a power of two. NULL: no room. Size 0 returns a
 * pointer that can be freed. */
void *arena_alloc(size_t size, size_t align);

/* Set a new allocation of this size to zero. The pages of a large one are freed, so that it takes
 * memory only where it is used. */
void arena_clear(void *at, size_t size);

enum arena_answer {
    ARENA_FREED,
    ARENA_FOREIGN, /* not in the heap */
    ARENA_BAD,     /* in the heap, but not the start of a live allocation; nothing was done */
};
enum arena_answer arena_free(void *at);

/* Allocate from the control part, aligned to cache lines. arena_control_alloc() returns zeroed
 * memory, arena_control_alloc_raw() memory with any content. NULL: no room. */
void *arena_control_alloc(size_t size);
void *arena_control_alloc_raw(size_t size);
void arena_control_free(void *at);

/* `release` is called when the control part is full, to free memory that its users keep for later;
 * then the allocation is tried again. It is called by the allocating thread and must not allocate
 * from the control part. Any thread may set it, always to the same function. */
typedef void release_memory(void);
void arena_control_when_full(release_memory *release);

/* Perform arena_control_free() for a block of which at most `written` bytes have been written, and
 * the other pages never touched. When more than ARENA_CONTROL_KEEP written bytes have been freed in
 * this way and are still unused, all unused pages of the control part are returned to the OS. */
void arena_control_free_written(void *at, size_t written);

/* The symmetric heap, on the PE (rank) that allocates for all, PE 0. Addresses in [start, start +
 * size) only represent offsets; nothing is read or written there. `drop` frees the pages of a part
 * on all PEs. */
bool arena_symmetric_open(char *start, size_t size, bool (*drop)(char *at, size_t size));
void *arena_symmetric_alloc(size_t size, size_t align);
bool arena_symmetric_is_live(const char *at);       /* a live allocation starts there */
bool arena_symmetric_resize(void *at, size_t size); /* in place; false: not possible */
size_t arena_symmetric_usable(void *at);
void arena_symmetric_free(void *at);

/* ---- the early heap ----
 *
 * A program that begins with a session may allocate memory before the ranks of the node have met.
 * This memory comes from the early heap, an arena in a file of this process that the other ranks
 * map when they meet (node/statics.h). After that nothing is allocated in the early heap any
 * more. */

/* A suitable size of the early heap if the heap has at most `limit` bytes. */
size_t arena_early_size(size_t limit);
void arena_early_open(char *start, size_t size);

/* Allocate from the early heap. NULL: no room, or no early heap. */
void *arena_early_alloc(size_t size, size_t align);
enum arena_answer arena_early_free(void *at);

struct arena_use {
    uint64_t live, peak, allocations;
};
struct arena_use arena_use(void);

#endif
