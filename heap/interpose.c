/* malloc and the functions that belong to it, as the program calls them. A small block costs one
 * comparison more than without this library, a free() one range check. */
#include "heap/heap.h"
#include "heap/next.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* ---- allocating ---- */

static COLD void *large_malloc(size_t size)
{
    void *block = heap_take(size, 1, false);
    return block ? block : next.malloc(size);
}

EXPORTED void *malloc(size_t size)
{
    return heap_wants(size) ? large_malloc(size) : next.malloc(size);
}

static COLD void *large_calloc(size_t count, size_t size)
{
    void *block = heap_take(count * size, 1, true);
    return block ? block : next.calloc(count, size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
    size_t bytes;
    bool small = __builtin_mul_overflow(count, size, &bytes) || !heap_wants(bytes);
    return small ? next.calloc(count, size) : large_calloc(count, size);
}

/* Allocate an aligned block. NULL: the next allocator decides, also about alignments that are
 * invalid. */
static void *aligned(size_t align, size_t size)
{
    bool power_of_two = align && !(align & (align - 1));
    return heap_wants(size) && power_of_two ? heap_take(size, align, false) : NULL;
}

EXPORTED void *memalign(size_t align, size_t size)
{
    void *block = aligned(align, size);
    return block ? block : next.memalign(align, size);
}

EXPORTED void *aligned_alloc(size_t align, size_t size)
{
    void *block = aligned(align, size);
    return block ? block : next.aligned_alloc(align, size);
}

EXPORTED int posix_memalign(void **result, size_t align, size_t size)
{
    void *block = align % sizeof(void *) ? NULL : aligned(align, size);
    if (!block)
        return next.posix_memalign(result, align, size);
    *result = block;
    return 0;
}

/* ---- freeing ---- */

EXPORTED void free(void *block)
{
    if (heap_has(block))
        heap_give(block);
    else
        next.free(block);
}

EXPORTED size_t malloc_usable_size(void *block)
{
    return heap_has(block) ? heap_usable(block) : next.malloc_usable_size(block);
}

/* ---- changing the size ---- */

static void *move_away(void *block, size_t size)
{
    void *moved = malloc(size);
    if (moved) {
        memcpy(moved, block, min_size(size, heap_usable(block)));
        heap_give(block);
    }
    return moved;
}

/* A block that stays where it is may be short: like glibc, this saves a copy. But what is shorter
 * than a page moves, since it would take a page here: programs read into a long buffer and then
 * keep what has come. A block of size 0 is freed, as in glibc. */
static void *resize_here(void *block, size_t size)
{
    enum { SHORT = 4096 };
    if (!size) {
        heap_give(block);
        return NULL;
    }
    void *moved = size < SHORT && !heap_wants(size) ? move_away(block, size) : NULL;
    if (moved)
        return moved;
    if (heap_resize(block, size))
        return block;
    moved = heap_wants(size) ? heap_grow(block, size) : NULL;
    return moved ? moved : move_away(block, size);
}

/* Move a block of the next allocator that has become large. */
static void *move_here(void *block, size_t size)
{
    size_t usable = next.malloc_usable_size(block);
    void *moved = usable < size ? heap_take(size, 1, false) : NULL;
    if (!moved)
        return next.realloc(block, size);
    memcpy(moved, block, usable);
    next.free(block);
    return moved;
}

static COLD void *large_realloc(void *block, size_t size)
{
    if (!block)
        return malloc(size);
    return heap_has(block) ? resize_here(block, size) : move_here(block, size);
}

EXPORTED void *realloc(void *block, size_t size)
{
    return heap_has(block) || heap_wants(size) ? large_realloc(block, size)
                                               : next.realloc(block, size);
}

/* A program with its own malloc() may lack this function, and calls this one with a block of its
 * own. The heap is closed then, and glibc's function calls the realloc() of the program. */
EXPORTED void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return heap_has(block) || heap_wants(bytes) ? large_realloc(block, bytes)
                                                : next.reallocarray(block, count, size);
}

/* ---- functions made from those above ---- */

EXPORTED void *valloc(size_t size)
{
    return memalign((size_t)getpagesize(), size);
}

/* Round the size up to whole pages. If that overflows, request SIZE_MAX: it fails with ENOMEM. */
EXPORTED void *pvalloc(size_t size)
{
    size_t page = (size_t)getpagesize(), bytes = round_up(size, page);
    return memalign(page, bytes < size ? SIZE_MAX : bytes);
}
