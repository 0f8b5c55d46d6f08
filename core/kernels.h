/* Combining arrays of a prim: out[i] = a[i] op b[i], as MPI's reductions and accumulates define it.
 * Compiled once per instruction set; the best one that this processor has is taken. */
#ifndef MPIACCEL_KERNELS_H
#define MPIACCEL_KERNELS_H

#include "core/types.h"

/* n elements, not bytes. The arrays are aligned as their type wants or not at all; any two of them
 * are equal or do not overlap. Meanwhile as many bytes at `ahead` (NULL: none) are brought here to
 * be written next. */
typedef void combine_fn(void *out, const void *a, const void *b, size_t n, const char *ahead);

struct kernels {
    const char *name;                          /* of the instruction set */
    combine_fn *combine[OP_COUNT][PRIM_COUNT]; /* NULL: MPI does not define this operation */
};

const struct kernels *kernels_best(void);

/* Let a kernel combine `bytes` of elements of `element` bytes. Stores that cross lines take half as
 * long again, so of many the elements before the first whole vector of `out` are combined apart:
 * malloc() begins long arrays 16 bytes after one. */
enum { KERNEL_MANY = 16384 };
void kernel_combine_many(combine_fn *kernel, size_t element, void *out, const void *a,
                         const void *b, size_t bytes, const char *ahead);
static inline void kernel_combine(combine_fn *kernel, size_t element, void *out, const void *a,
                                  const void *b, size_t bytes, const char *ahead)
{
    if (LIKELY(bytes < KERNEL_MANY))
        kernel(out, a, b, bytes / element, ahead);
    else
        kernel_combine_many(kernel, element, out, a, b, bytes, ahead);
}

#endif
