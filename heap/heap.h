/* The heap of malloc: large blocks of this process, in a file that the ranks of the node can map.
 *
 * The file is made before the program begins, if an MPI library is loaded, and otherwise by
 * MPI_Init. When the ranks meet, every member maps it over the statics part of the owner's slice,
 * as it does with static variables (node/statics.h, docs/decisions/061-heap-of-malloc.md). Until
 * then, and in a process that never becomes a rank, it is like other memory of the process.
 *
 * Blocks consist of whole pages (heap/blocks.h), and begin at different offsets in their first
 * page. Otherwise the same elements of several arrays, or of the rows of a matrix, would compete
 * for a few lines of the first-level cache, because their addresses would be equal modulo a page.
 *
 * Up to HEAP_KEEP bytes of freed blocks keep their pages, so that memory that is allocated and
 * freed in turn costs no page faults. Beyond that the pages go back to the OS, first those of the
 * longest unused runs. If a longer block gets pages that have gone back, the limit rises from
 * HEAP_KEEP to its length, up to an eighth of a processor's share of the memory that was
 * left when the heap opened.
 *
 * The mapping becomes accessible step by step, as blocks are allocated. mlockall() and core files
 * then do not touch the rest.
 *
 * A child of fork gets a copy of all blocks, and of their table, made before the fork. It allocates
 * no more blocks here, and neither does any thread of its parent until the fork is over.
 *
 * The heap stays closed, so that every block comes from the next allocator, if this malloc is not
 * the one that the process uses, or if memory is limited in a way that shared memory does not obey
 * (`ulimit -d`, `ulimit -v`, vm.overcommit_memory=2). Where private memory consists of huge pages
 * but shared memory cannot, blocks that could contain a huge page come from the next allocator.
 */
#ifndef MPIACCEL_HEAP_HEAP_H
#define MPIACCEL_HEAP_HEAP_H

#include "core/base.h"

#define HEAP_KEEP ((size_t)64 << 20)

/* The fields are not atomic: GCC would load an atomic variable into a register before comparing it,
 * one instruction more in each malloc() and free(). The heap opens once, and writes `start`, `size`
 * and, with release, `minimum`, in this order. Another thread may see any subset of these stores.
 * That thread allocates here only after it has seen `minimum`; the fence in heap_take() then makes
 * the other two visible. When it frees a block of the next allocator, heap_has() is false for every
 * subset, because the initial `start` is an address that no process has. A child of fork writes
 * `minimum` again. */
struct heap {
    char *start;
    size_t size;    /* 0: closed */
    size_t minimum; /* shorter blocks are left to the next allocator; SIZE_MAX: all are */
};
extern struct heap heap __attribute__((visibility("hidden"))); /* see heap/next.h */

/* Whether heap_take() may have a block of this size. */
static inline bool heap_wants(size_t size)
{
    return UNLIKELY(size >= heap.minimum);
}

static inline bool heap_has(const void *block)
{
    return UNLIKELY((size_t)((const char *)block - heap.start) < heap.size);
}

/* Allocate a block. `align` is a power of two. NULL: the heap is closed or full, or has no blocks
 * of this length. */
void *heap_take(size_t size, size_t align, bool zeroed);

/* The bytes that a block has. Ends the process if none begins there. */
size_t heap_usable(const void *block);

/* Change the size of a block where it is. False: not possible. */
bool heap_resize(void *block, size_t size);

/* Move a block to a place where it has `size` bytes and can grow further. NULL: not possible, or
 * the block is so short that it is not worth it. */
void *heap_grow(void *block, size_t size);

/* Free a block. Ends the process if none begins there. errno is unchanged. */
void heap_give(void *block);

#endif
