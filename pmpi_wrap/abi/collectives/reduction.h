/* Which reductions are ours, and how. */
#ifndef MPIACCEL_REDUCTION_H
#define MPIACCEL_REDUCTION_H

#include "coll_inplace/reducer.h"
#include "pmpi_wrap/abi/abi.h"

/* Those of this processor; NULL before the first reduction. */
extern const struct kernels *reduction_kernels;

/* For a predefined operation on a predefined datatype; NULL: none. A derived datatype is the
 * program's error, even if it is made of one basic one. */
HOT_INLINE combine_fn *kernel_for(enum op op, MPI_Datatype type, const struct typemap *map)
{
    return LIKELY(map->base == BITS(type)) ? reduction_kernels->combine[op][map->prim] : NULL;
}

/* False: the host's; the same answer on all `ranks` ranks. A predefined operation is ours where we
 * have a kernel for the datatype. One of the user's is applied to all of an operand at once, as
 * hosts do, since its function may rely on that; the way depends on the bytes in all, for which
 * alone the standard asks equality where datatypes are derived. */
bool reducer_for(struct reducer *reducer, MPI_Op op, MPI_Datatype type, struct buffer operands,
                 uint32_t ranks);
void reducer_close(struct reducer *reducer);

#endif
