/* Which reductions are fast, and how their elements are reduced. */
#ifndef MPIACCEL_REDUCTION_H
#define MPIACCEL_REDUCTION_H

#include "coll_inplace/coll.h"
#include "pmpi_wrap/abi/collectives/collectives.h"
#include "pmpi_wrap/abi/datatypes/reducers.h"

/* The parts of the following two functions for user-defined operations. */
bool reducer_open_user_defined(struct reducer *red, struct team *t, MPI_Op op, MPI_Datatype type,
                               struct buffer operands);
void reducer_free_scratch(struct reducer *red);

/* Choose how the elements of a reduction are combined. False: the reduction is left to the host;
 * the answer is the same on all ranks of the team.
 *
 * A predefined operation is fast if there is a reduction kernel for the datatype. A user-defined
 * operation is applied to all elements that a rank needs in one call, because its function may rely
 * on that; the library divides operands only where the host does. The algorithm depends on the
 * number of bytes, because nothing else is equal on all ranks where datatypes are derived. */
HOT_INLINE bool reducer_open(struct reducer *red, struct team *t, MPI_Op op, MPI_Datatype type,
                             struct buffer operands)
{
    enum op known = op_of(op);
    if (UNLIKELY(known == OP_COUNT))
        return reducer_open_user_defined(red, t, op, type, operands);
    combine_fn *kernel = kernel_for(known, type, operands.map);
    *red =
        (struct reducer){.kernel = kernel, .element = operands.map->element, .map = operands.map};
    return LIKELY(kernel != NULL);
}

static inline void reducer_close(struct reducer *red)
{
    if (UNLIKELY(red->scratch != NULL))
        reducer_free_scratch(red);
}

/* The element counts of a reduce_scatter's results as blocks, and their sum. False: invalid. */
bool translate_results(const struct reduction *r, const struct rank_blocks *results, uint32_t ranks,
                       struct blocks *blocks, MPI_Count *sum);

#endif
