/* A datatype as memory: which bytes it covers, in the order of its type map (MPI-4.0, 5.1).
 *
 * A typemap is a list of runs; a run is `blocks` blocks of `bytes` bytes, `stride` bytes apart. A
 * vector is one run, a subarray of three dimensions one run a plane, an indexed type one run a
 * block. Blocks hold whole elements of `prim`. Count copies of a datatype lie `extent` apart.
 *
 * Typemaps are built once a datatype and never change, so threads share them freely.
 */
#ifndef MPIACCEL_TYPEMAP_H
#define MPIACCEL_TYPEMAP_H

#include "core/copy.h"
#include "core/types.h"

struct run {
    ptrdiff_t at; /* bytes from the buffer's address */
    size_t bytes; /* of a block */
    size_t blocks;
    ptrdiff_t stride;
};

struct typemap {
    uintptr_t base; /* the host's handle of the predefined datatype it is made of; 0: of several */
    size_t size;    /* bytes of data: sum of bytes * blocks of all runs */
    ptrdiff_t extent;
    ptrdiff_t low, high; /* the bytes it touches lie in [low, high) */
    bool contiguous;     /* one block at 0, extent == size: count copies are one block */
    bool simple;      /* contiguous, without holes, not empty, and INT_MAX copies do not overflow */
    uint8_t prim;     /* enum prim; PRIM_MIXED: of several, or of none */
    uint32_t element; /* bytes from one element of prim to the next */
    size_t run_count, run_room;
    struct run *runs;
    /* Where elements have holes (MPI_DOUBLE_INT): the same with the holes left out, for moving.
     * Otherwise NULL. */
    struct typemap *without_holes;
};

/* A predefined datatype: `size` bytes of data in an element of `extent`. NULL: no memory. */
struct typemap *typemap_predefined(uintptr_t base, enum prim prim, size_t size, size_t extent);

/* A derived one: empty, then appended to in type map order, then ended with its extent. On failure
 * (no memory) append and end return false, and the caller frees. */
struct typemap *typemap_derived(void);
bool typemap_append(struct typemap *map, const struct typemap *child, ptrdiff_t at, size_t count);
bool typemap_end(struct typemap *map, ptrdiff_t extent);
void typemap_free(struct typemap *map);

/* `bytes` bytes of contiguous memory as a typemap, for walks in which one side is a plain buffer.
 */
struct typemap typemap_of_bytes(struct run *run, size_t bytes);

/* What to use for moving, as opposed to combining. */
static inline const struct typemap *typemap_to_move(const struct typemap *map)
{
    return map->without_holes ? map->without_holes : map;
}

/* Blocks at the same place of two buffers, in step. */
typedef void piece_fn(void *context, char *a, ptrdiff_t a_stride, char *b, ptrdiff_t b_stride,
                      size_t bytes, size_t blocks);

/* Walk the first `total` bytes of both sides together. Both must have that many. */
void typemap_walk(char *a, const struct typemap *a_map, char *b, const struct typemap *b_map,
                  size_t total, piece_fn *piece, void *context);

/* Move `total` bytes of data. */
void typemap_copy(char *to, const struct typemap *to_map, const char *from,
                  const struct typemap *from_map, size_t total);

/* ---- buffers ---- */

/* One side of an operation: `count` copies of a datatype, at an address (of a window's target: at a
 * displacement). Its data, in the order of the type map, are numbered bytes from 0 on. */
struct buffer {
    char *at;
    const struct typemap *map;
    size_t count;
};

/* Bytes of data in a buffer as it is moved. False: more than there can be. */
static inline bool buffer_bytes(struct buffer b, size_t *bytes)
{
    return !__builtin_mul_overflow(typemap_to_move(b.map)->size, b.count, bytes);
}

/* Move data bytes [first, first + bytes) out of a buffer or into it. */
void buffer_read(char *to, struct buffer from, size_t first, size_t bytes);
void buffer_write(struct buffer to, size_t first, const char *from, size_t bytes);

/* Like buffer_read(), into memory that peers read next, and this process does not. `streams`:
 * contiguous data by non-temporal stores. */
void buffer_fill(char *to, struct buffer from, size_t first, size_t bytes, bool streams);

/* The bytes that `count` copies touch, relative to the buffer's address: [*low, *high). False when
 * they do not fit into the address space. */
bool typemap_span(const struct typemap *map, size_t count, ptrdiff_t *low, ptrdiff_t *high);

#endif
