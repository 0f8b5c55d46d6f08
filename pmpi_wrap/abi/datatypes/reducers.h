/* How predefined operations reduce predefined datatypes, in accumulates and in collectives. */
#ifndef MPIACCEL_REDUCERS_H
#define MPIACCEL_REDUCERS_H

#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "rma_shm/atomic.h"

/* The reduction kernels of this processor. */
extern const struct kernels *reduction_kernels HIDDEN;

/* The reducers of accumulates, by operation and prim; `element` is 0 where this library has no
 * arithmetic. */
extern struct reducer reducers[OP_COUNT][PRIM_COUNT] HIDDEN;

/* Choose the kernels for this processor; in MPI_Init, before other threads may read them. */
void reducers_open(void);

/* The kernel for a collective. NULL: there is none. A derived datatype is an error of the program,
 * even if it is made of one predefined datatype. */
HOT_INLINE combine_fn *kernel_for(enum op op, MPI_Datatype type, const struct typemap *map)
{
    return LIKELY(map->base == BITS(type)) ? reduction_kernels->combine[op][map->prim] : NULL;
}

/* Find the reducer for accumulates on elements of this datatype. False: neither MPI nor the host
 * defines the operation for it. */
bool find_reducer(MPI_Op op, const struct typemap *element, struct reducer *reducer);

#endif
