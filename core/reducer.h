/* How an operation combines the elements of a datatype, in accumulates (rma_shm/atomic.h) and in
 * collectives, and how the elements of collectives are laid out in buffers.
 *
 * In transit, elements have `element` bytes each and are adjacent. If there is a kernel (predefined
 * operations on predefined datatypes), the layout in the program's buffers is the same, holes
 * included, and elements are combined where they are. Otherwise `apply` combines them through the
 * host (user-defined operations, datatypes that have no kernel), and elements travel packed.
 *
 * Elements are combined in rank order, ((x0 op x1) op x2) op ... or in pairs, (x0 op x1) op (x2 op
 * x3) (H17: the result must not depend on which rank arrives first).
 */
#ifndef MPIACCEL_REDUCER_H
#define MPIACCEL_REDUCER_H

#include "core/kernels.h"
#include "core/typemap.h"

/* Pass this as the root of a reduction if all ranks receive the result. */
#define REDUCE_FOR_ALL UINT32_MAX

struct reducer {
    combine_fn *kernel; /* NULL: use `apply` */
    size_t element;     /* bytes */
    void (*apply)(const struct reducer *reducer, void *out, const void *a, const void *b, size_t n);
    uintptr_t host_type, host_op; /* for `apply` */
    /* Only in accumulates: the operation, and the function that combines one aligned element
     * atomically, and stores the old value in `result` unless `result` is NULL. NULL: the processor
     * has no instruction for the operation. */
    enum op op;
    void (*native)(const struct reducer *reducer, void *at, const void *origin, void *result);
    /* Only in collectives. */
    const struct typemap *map; /* of an element in the program's buffers */
    bool divides;  /* in MPI_Allreduce, `apply` may get some of the elements of long operands */
    char *scratch; /* room for operands of `apply` in the layout of their datatype */
    char *few;     /* room for TEAM_CELL bytes, for `apply` to replace an operand by the result */
    bool scratch_shared; /* `scratch` is in the node's file */
    bool starved;        /* no memory for `scratch`: this rank cannot combine */
};

/* out = a op b; any two of the three may be the same buffer. Without a kernel, and with more than
 * TEAM_CELL bytes, `out` must be `b`. kernels.h describes `ahead`. */
static inline void reducer_combine_ahead(const struct reducer *r, void *out, const void *a,
                                         const void *b, size_t bytes, const char *ahead)
{
    if (LIKELY(r->kernel != NULL))
        kernel_combine(r->kernel, r->element, out, a, b, bytes, ahead);
    else
        r->apply(r, out, a, b, bytes / r->element);
}

static inline void reducer_combine(const struct reducer *r, void *out, const void *a, const void *b,
                                   size_t bytes)
{
    reducer_combine_ahead(r, out, a, b, bytes, NULL);
}

/* The number of elements in a buffer, and their bytes in transit. */
static inline size_t reducer_elements(const struct reducer *r, struct buffer b)
{
    return r->map->size ? b.count : 0;
}

static inline size_t reducer_bytes(const struct reducer *r, struct buffer b)
{
    return r->element * reducer_elements(r, b);
}

/* Whether elements are combined where they are. */
static inline bool reducer_is_plain(const struct reducer *r)
{
    return r->kernel;
}

/* Operands of `bytes` bytes as data to send; `run` and `map` are storage for their typemap. */
static inline struct buffer reducer_data(const struct reducer *r, struct buffer from, size_t bytes,
                                         struct run *run, struct typemap *map)
{
    if (!reducer_is_plain(r))
        return from;
    *map = typemap_of_bytes(run, bytes);
    return (struct buffer){from.at, map, 1};
}

/* Copy bytes [first, first + bytes), which are whole elements, out of a buffer of the program
 * (read) or into one (write). */
static inline void reducer_read(const struct reducer *r, char *to, struct buffer from, size_t first,
                                size_t bytes)
{
    if (LIKELY(reducer_is_plain(r)))
        copy_to_peers(to, from.at + first, bytes);
    else
        buffer_read(to, from, first, bytes);
}

static inline void reducer_write(const struct reducer *r, struct buffer to, size_t first,
                                 const char *from, size_t bytes)
{
    const struct typemap *without_holes = to.map->without_holes;
    if (!reducer_is_plain(r))
        buffer_write(to, first, from, bytes);
    else if (LIKELY(!without_holes))
        copy_bytes(to.at + first, from, bytes);
    else
        typemap_copy(to.at + first, without_holes, from, without_holes,
                     bytes / r->element * without_holes->size);
}

#endif
