/* Reduction kernels: out[i] = a[i] op b[i] for arrays of a prim, as MPI defines it for reductions
 * and accumulates. Compiled once per instruction set; kernels_best() returns the best one that this
 * processor supports. */
#ifndef MPIACCEL_KERNELS_H
#define MPIACCEL_KERNELS_H

#include "core/types.h"

/* Combine `n` elements of `a` and `b` into `out`. The arrays may be unaligned; any two of them are
 * identical or do not overlap. If `ahead` is not NULL, also prefetch as many bytes there, which the
 * caller writes next. */
typedef void combine_fn(void *out, const void *a, const void *b, size_t n, const char *ahead);

struct kernels {
    const char *name;                          /* instruction set */
    combine_fn *combine[OP_COUNT][PRIM_COUNT]; /* NULL: not defined by MPI */
};

const struct kernels *kernels_best(void);

enum { KERNEL_VECTOR = 32, KERNEL_LONG = 16384 }; /* bytes */

/* Apply a kernel to `bytes` bytes of elements of `element` bytes each. Vector stores that cross
 * cache lines take 1.5 times as long, and malloc() returns long arrays 16 bytes after a line. In
 * long arrays the elements before the first aligned vector of `out` are therefore combined first.
 */
static inline void kernel_combine_long(combine_fn *kernel, size_t element, char *out, const char *a,
                                       const char *b, size_t bytes, const char *ahead)
{
    size_t head = -(uintptr_t)out % KERNEL_VECTOR;
    if (head % element)
        head = 0;
    if (head)
        kernel(out, a, b, head / element, NULL);
    kernel(out + head, a + head, b + head, (bytes - head) / element, ahead);
}

static inline void kernel_combine(combine_fn *kernel, size_t element, void *out, const void *a,
                                  const void *b, size_t bytes, const char *ahead)
{
    if (LIKELY(bytes < KERNEL_LONG))
        kernel(out, a, b, bytes / element, ahead);
    else
        kernel_combine_long(kernel, element, out, a, b, bytes, ahead);
}

#endif
