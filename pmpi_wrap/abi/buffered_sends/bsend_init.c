/* MPI_Bsend_init (MPI-4.0, 3.9). */
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"

int SUFFIXED(accel_Bsend_init)(const void *data, COUNT count, MPI_Datatype type, int rank, int tag,
                               MPI_Comm comm, MPI_Request *request)
{
    int result = host.SUFFIXED(Bsend_init)(data, count, type, rank, tag, comm, request);
    struct message m = message_of(data, count, type, rank, tag, comm);
    return persistent_created(SUFFIXED(CALL_Bsend_init), &m, request, result);
}
