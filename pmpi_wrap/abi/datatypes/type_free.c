/* MPI_Type_free (MPI-4.0, 5.1.9). */
#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "pmpi_wrap/abi/handlers.h"

/* The datatype is unregistered before the host frees it, because the host may then give the same
 * handle to another datatype at once. */
int accel_Type_free(MPI_Datatype *type)
{
    uintptr_t bits = type ? BITS(*type) : 0;
    struct typemap *map = bits ? registry_remove(&datatype_registry, bits) : NULL;
    int result = host.Type_free(type);
    if (result == MPI_SUCCESS)
        typemap_free(map);
    else if (map)
        registry_add(&datatype_registry, bits, map, 0);
    return result;
}
