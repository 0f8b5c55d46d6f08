/* MPI_Bsend and MPI_Ibsend (MPI-4.0, 3.4 and 3.7.2). */
#include "pmpi_wrap/abi/buffered_sends/message.h"
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"

int SUFFIXED(accel_Bsend)(const void *data, COUNT count, MPI_Datatype type, int rank, int tag,
                          MPI_Comm comm)
{
    struct message m = message_of(data, count, type, rank, tag, comm);
    if (LIKELY((uint64_t)count <= INT_MAX))
        return message_send(SUFFIXED(CALL_Bsend), &m);
    message_make_room(&m);
    return message_deferred(SUFFIXED(CALL_Bsend), &m,
                            host.SUFFIXED(Bsend)(data, count, type, rank, tag, comm));
}

int SUFFIXED(accel_Ibsend)(const void *data, COUNT count, MPI_Datatype type, int rank, int tag,
                           MPI_Comm comm, MPI_Request *request)
{
    struct message m = message_of(data, count, type, rank, tag, comm);
    if (request && (uint64_t)count <= INT_MAX)
        return message_start(SUFFIXED(CALL_Ibsend), &m, request);
    message_make_room(&m);
    return message_deferred(SUFFIXED(CALL_Ibsend), &m,
                            host.SUFFIXED(Ibsend)(data, count, type, rank, tag, comm, request));
}
