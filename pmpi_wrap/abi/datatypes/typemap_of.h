/* The typemap of a datatype, from its handle. */
#ifndef MPIACCEL_TYPEMAP_OF_H
#define MPIACCEL_TYPEMAP_OF_H

#include "pmpi_wrap/abi/datatypes/predefined.h"

/* Data in MPI's terms. */
struct data {
    const void *address; /* NULL on the target's side of a one-sided operation */
    MPI_Count count;
    MPI_Datatype type;
};

const struct typemap *typemap_of_unregistered(MPI_Datatype type);
const struct typemap *typemap_of_unregistered_or_abort(MPI_Datatype type);

/* Returns the typemap of a datatype. NULL: the handle is no datatype, it is not committed, there is
 * no memory, or the node has not settled. */
HOT_INLINE const struct typemap *typemap_of(MPI_Datatype type)
{
    struct entry *e = registry_find(&datatype_registry, BITS(type));
    return LIKELY(e != NULL) ? e->object : typemap_of_unregistered(type);
}

/* Returns the typemap for data of a collective call. Without memory the job ends, because a single
 * rank that leaves such a call to the host lets the others wait forever. NULL: not a datatype, or
 * not committed. */
HOT_INLINE const struct typemap *typemap_of_or_abort(MPI_Datatype type)
{
    struct entry *e = registry_find(&datatype_registry, BITS(type));
    return LIKELY(e != NULL) ? e->object : typemap_of_unregistered_or_abort(type);
}

#endif
