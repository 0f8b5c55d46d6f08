/* How the elements of a reduction are combined, and how they lie in buffers.
 *
 * On their way elements are `element` bytes each, one after another. With a kernel (the predefined
 * operations on predefined datatypes that we have arithmetic for) that is also how they lie in the
 * program's buffers, holes included, and they are combined where they are. Otherwise `apply`
 * combines them, through the host: operations of the user's, datatypes that only the host knows;
 * then elements travel packed.
 *
 * The order is that of the ranks, always from the left (H17): ((x0 op x1) op x2) … Only where it
 * makes no difference to a single bit it may be another.
 */
#ifndef MPIACCEL_REDUCER_H
#define MPIACCEL_REDUCER_H

#include "core/kernels.h"
#include "core/typemap.h"

struct reducer {
    combine_fn *kernel; /* NULL: apply */
    size_t element;     /* bytes */
    void (*apply)(const struct reducer *reducer, void *out, const void *a, const void *b, size_t n);
    const struct typemap *map; /* of an element in the program's buffers */
    uintptr_t host_type, host_op;
    char *scratch;       /* of apply's: room for operands as their datatype lays them out */
    bool scratch_shared; /* it is a piece of the node's file */
    bool starved;        /* there was no memory for it: nothing may be combined here */
};

/* out = a op b; any two may be the same. For `ahead` see kernels.h. */
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

/* How many a buffer has. */
static inline size_t reducer_elements(const struct reducer *r, struct buffer b)
{
    return r->map->size ? b.count : 0;
}

/* Whether they are combined where they lie. */
static inline bool reducer_is_plain(const struct reducer *r)
{
    return r->kernel;
}

/* Whether any order will do. The same on all ranks: it follows from the operation and the basic
 * datatype. */
static inline bool reducer_is_exact(const struct reducer *r)
{
    return reducer_is_plain(r) && prim_is_exact(r->map->prim);
}

/* Bytes [first, first + bytes), whole elements, out of a buffer of the program's, or into one. */
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
    const struct typemap *cut = to.map->without_holes;
    if (!reducer_is_plain(r))
        buffer_write(to, first, from, bytes);
    else if (LIKELY(!cut))
        copy_bytes(to.at + first, from, bytes);
    else
        typemap_copy(to.at + first, cut, from, cut, bytes / r->element * cut->size);
}

#endif
