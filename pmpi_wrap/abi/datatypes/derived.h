/* Derived datatypes as typemaps. */
#ifndef MPIACCEL_DERIVED_H
#define MPIACCEL_DERIVED_H

#include "core/typemap.h"
#include "pmpi_wrap/abi/host_api.h"

/* The typemap of any datatype, which is registered if it was not. NULL: no memory. Call in one
 * thread at a time, or a datatype could be registered twice. */
const struct typemap *typemap_find_or_decode(MPI_Datatype type);

#endif
