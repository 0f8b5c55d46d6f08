/* A datatype as memory: the bytes that it covers, in the order of its type map (MPI-4.0, 5.1).
 *
 * A typemap is a list of runs. A run is `blocks` blocks, `stride` bytes apart or at the offsets of
 * a list. A block is `bytes` bytes, or a copy of another typemap. A typemap thus repeats a pattern
 * without storing its copies, and takes no more memory than the arguments of the constructors:
 *
 *   vector                               one run
 *   three-dimensional subarray           one run, whose pattern is the typemap of a plane
 *   array of structures with holes       one run, whose pattern is the typemap of a structure
 *   indexed, blocks of equal length      one run with a list of 8 bytes per block
 *   indexed, other                       one run with a list of 16 bytes per block
 *   indexed, blocks of several lengths
 *     that are not contiguous            one run per block
 *
 * Blocks of bytes consist of whole elements of `prim`. Consecutive copies of a datatype are
 * `extent` bytes apart. Patterns nest at most TYPEMAP_NESTING_MAX deep, which bounds the stack that
 * a walk needs: beyond that, and where a pattern is short, its copies are runs of their own.
 *
 * A typemap is built once per datatype and never changes, so threads share it without locks.
 */
#ifndef MPIACCEL_TYPEMAP_H
#define MPIACCEL_TYPEMAP_H

#include "core/copy.h"
#include "core/types.h"

#include <stdatomic.h>

enum { TYPEMAP_NESTING_MAX = 15 };

/* The offsets of the blocks of a run. Runs of several typemaps may share it. */
struct block_list {
    _Atomic size_t users;
    size_t *before;      /* bytes of data before each block, then in all; NULL: equal blocks */
    ptrdiff_t low, high; /* the lowest offset, and the highest; with `before` the highest end */
    bool ascending;      /* each block begins at or after the end of the previous block */
    ptrdiff_t offset[];
};

struct run {
    ptrdiff_t at; /* offset from the address of the buffer, in bytes */
    size_t bytes; /* of data per block; 0: the list has the lengths */
    size_t blocks;
    ptrdiff_t stride;              /* unless there is a list */
    size_t before;                 /* bytes of data in all earlier runs of the typemap */
    const struct typemap *pattern; /* each block is a copy of it; NULL: contiguous bytes */
    struct block_list *list;       /* block i begins at `at` + list->offset[i]; or NULL */
};

struct typemap {
    uintptr_t base; /* host handle of its only predefined datatype; 0: several */
    size_t size;    /* bytes of data */
    ptrdiff_t extent;
    ptrdiff_t low, high; /* all its bytes are in [low, high) */
    bool contiguous;     /* one block at 0, extent == size: any number of copies is one block */
    bool simple;      /* contiguous, without holes, not empty, and INT_MAX copies do not overflow */
    bool flat;        /* each run is one block of bytes */
    bool fine;        /* neither contiguous nor a vector, and most blocks are short */
    bool ascending;   /* each block begins at or after the end of the previous block */
    uint8_t prim;     /* enum prim; PRIM_MIXED: several or none */
    uint8_t nesting;  /* patterns inside each other */
    uint32_t element; /* bytes from one element of `prim` to the next */
    size_t run_count, run_capacity;
    struct run *runs;
    /* For elements with holes (MPI_DOUBLE_INT): the datatype without the holes, for moving data.
     * Otherwise NULL. */
    struct typemap *without_holes;
    size_t pieces;        /* vectors and blocks of lists, including those of patterns */
    _Atomic size_t users; /* the owner, and the runs that repeat this typemap */
};

/* Bytes of data in a run. */
static inline size_t run_size(const struct run *run)
{
    return run->bytes ? run->bytes * run->blocks : run->list->before[run->blocks];
}

/* A predefined datatype: `size` bytes of data per element of `extent` bytes. NULL: out of memory.
 */
struct typemap *typemap_predefined(uintptr_t base, enum prim prim, size_t size, size_t extent);

/* Build a derived datatype: typemap_derived() returns an empty one, typemap_append() adds children
 * in the order of the type map, typemap_end() sets the extent. The caller may free the children at
 * any time. False: out of memory; the caller then frees the typemap. */
struct typemap *typemap_derived(void);
bool typemap_append(struct typemap *map, const struct typemap *child, ptrdiff_t at, size_t count);
bool typemap_end(struct typemap *map, ptrdiff_t extent);

/* `count` blocks of a child. Block i has lengths[i * length_step] copies, which begin at byte
 * at + i * stride + displacements[i] * unit. */
struct placement {
    ptrdiff_t at;
    size_t count;
    const int64_t *lengths, *displacements; /* displacements NULL: all are 0 */
    size_t length_step;                     /* 1; 0: all lengths are equal */
    ptrdiff_t stride, unit;
};

bool typemap_append_blocks(struct typemap *map, const struct typemap *child,
                           const struct placement *p);

/* Release a typemap. Its parts stay as long as other typemaps repeat them. */
void typemap_free(struct typemap *map);

/* `bytes` bytes of contiguous memory as a typemap, for walks with a plain buffer on one side. */
struct typemap typemap_of_bytes(struct run *run, size_t bytes);

/* The typemap for moving data, which skips holes. Reductions use `map` itself. */
static inline const struct typemap *typemap_to_move(const struct typemap *map)
{
    return map->without_holes ? map->without_holes : map;
}

/* Called for `blocks` blocks of `bytes` bytes on each side, which are the same part of the data. */
typedef void piece_fn(void *context, char *a, ptrdiff_t a_stride, char *b, ptrdiff_t b_stride,
                      size_t bytes, size_t blocks);

/* Call `piece` for the first `total` bytes of data of both sides, in order. Both sides must have
 * that many. */
void typemap_walk(char *a, const struct typemap *a_map, char *b, const struct typemap *b_map,
                  size_t total, piece_fn *piece, void *context);

/* Copy the first `total` bytes of data. */
void typemap_copy(char *to, const struct typemap *to_map, const char *from,
                  const struct typemap *from_map, size_t total);

/* ---- buffers ---- */

/* One side of an operation: `count` copies of a datatype at an address. Functions that take a range
 * of its data number the data bytes from 0, in the order of the type map. */
struct buffer {
    char *at;
    const struct typemap *map;
    size_t count;
};

/* Bytes of data in a buffer, without holes. False: the number overflows. */
static inline bool buffer_bytes(struct buffer b, size_t *bytes)
{
    return !__builtin_mul_overflow(typemap_to_move(b.map)->size, b.count, bytes);
}

/* Copy data bytes [first, first + bytes) out of a buffer (read) or into it (write). */
void buffer_read(char *to, struct buffer from, size_t first, size_t bytes);
void buffer_write(struct buffer to, size_t first, const char *from, size_t bytes);

/* buffer_read() into memory that only peers read next. `nontemporal`: use non-temporal stores if
 * the data are contiguous. */
void buffer_fill(char *to, struct buffer from, size_t first, size_t bytes, bool nontemporal);

/* All bytes of `count` copies are in [*low, *high), relative to the address of the buffer. False:
 * they do not fit into the address space. */
bool typemap_span(const struct typemap *map, size_t count, ptrdiff_t *low, ptrdiff_t *high);

#endif
