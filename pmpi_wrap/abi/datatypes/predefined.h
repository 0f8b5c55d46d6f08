/* The predefined datatypes and operations, and the registries of all datatypes and operations. */
#ifndef MPIACCEL_PREDEFINED_H
#define MPIACCEL_PREDEFINED_H

#include "core/typemap.h"
#include "pmpi_wrap/abi/host_api.h"
#include "pmpi_wrap/registry.h"

/* Objects are typemaps; derived datatypes are added when they are first used (typemap_of.h). */
extern struct registry datatype_registry HIDDEN;

/* The predefined operations; `detail` is enum op. */
extern struct registry operation_registry HIDDEN;

/* OP_COUNT: not a predefined operation. */
HOT_INLINE enum op op_of(MPI_Op op)
{
    struct entry *e = registry_find(&operation_registry, BITS(op));
    return LIKELY(e != NULL) ? (enum op)e->detail : OP_COUNT;
}

/* Register the predefined handles, when the node has settled. */
void predefined_open(void);

/* Call when the host is freeing a datatype, also if that was requested past this library. */
void datatype_freed(MPI_Datatype type);

/* Forget all derived datatypes: the host has been finalized. */
void datatypes_forget(void);

/* Forget the predefined handles, too: a copy of the host that has been loaded since may have other
 * ones. */
void predefined_forget(void);

/* The class of a datatype's values; with their size in bytes it determines the prim. The size of
 * INTEGER or long depends on the compilers that the host was built with. */
enum kind { SIGNED, UNSIGNED, REAL, LONG_REAL, COMPLEX, LONG_COMPLEX, LOGICAL, BYTES, OTHER };
enum prim prim_of(enum kind kind, int size);

/* The predefined datatype that all elements of a typemap have; the typemap itself if there is
 * none. */
const struct typemap *predefined_for(const struct typemap *map);

/* The typemap of a predefined datatype that is registered. NULL: not registered, or derived. */
HOT_INLINE const struct typemap *predefined_known(MPI_Datatype type)
{
    const struct entry *e = registry_find(&datatype_registry, BITS(type));
    const struct typemap *map = e ? e->object : NULL;
    return map && map->base == BITS(type) ? map : NULL;
}

/* Register a predefined datatype that only the host defines. NULL: no memory. */
const struct typemap *predefined_other(MPI_Datatype type);

/* Does the host apply this predefined operation to this datatype? Call for pairs that have no
 * reduction kernel. */
bool host_reduces(MPI_Datatype type, MPI_Op op);

#endif
