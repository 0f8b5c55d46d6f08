/* MPI_Bsend_init (MPI-4.0, 3.9). */
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"

int SUFFIXED(accel_Bsend_init)(const void *data, COUNT count, MPI_Datatype type, int rank, int tag,
                               MPI_Comm comm, MPI_Request *request)
{
    struct message m = {data, count, type, rank, tag, comm};
    int result = host.SUFFIXED(Bsend_init)(data, count, type, rank, tag, comm, request);
    return persistent_created(SUFFIXED(CALL_Bsend_init), &m, request, result);
}
