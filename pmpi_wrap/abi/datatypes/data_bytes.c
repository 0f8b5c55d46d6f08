#include "pmpi_wrap/abi/datatypes/data_bytes.h"

#include "pmpi_wrap/abi/host_api.h"

uint64_t data_bytes(int64_t count, long datatype, int rank)
{
    int size = 0;
    if (rank == MPI_PROC_NULL || count <= 0 ||
        host.Type_size(HANDLE_OF(MPI_Datatype, datatype), &size) || size < 0)
        return 0;
    return (uint64_t)count * (uint64_t)size;
}
