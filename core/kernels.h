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

#endif
