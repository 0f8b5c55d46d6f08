/* MPI_Type_free (MPI-4.0, 5.1.9). MPICH reuses a handle as soon as its datatype is freed, and a
 * stale typemap would then move the wrong data. So the typemap is removed before the host frees the
 * datatype. */
#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "pmpi_wrap/abi/handlers.h"

void datatype_freed(MPI_Datatype type)
{
    uintptr_t handle = BITS(type);
    if (!registry_is_removing(&datatype_registry, handle))
        typemap_free(registry_remove(&datatype_registry, handle));
}

int accel_Type_free(MPI_Datatype *type)
{
    if (!type)
        return host.Type_free(type);
    uintptr_t handle = BITS(*type);
    registry_begin_removal(&datatype_registry, handle);
    int result = host.Type_free(type);
    if (result == MPI_SUCCESS)
        typemap_free(registry_end_removal(&datatype_registry, handle));
    else
        registry_cancel_removal(&datatype_registry, handle);
    return result;
}
