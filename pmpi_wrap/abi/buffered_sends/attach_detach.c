/* MPI_Buffer_attach, MPI_Buffer_detach, and MPI-4.1's other calls for buffers: MPI_Buffer_flush,
 * MPI_Buffer_iflush, MPI_Comm_attach_buffer, MPI_Session_attach_buffer (MPI-4.1, 3.6).
 *
 * All buffers are attached to the host. Only the process's buffer is fast. After the first call
 * that attaches another kind of buffer the host sends all messages: which of them a session's
 * buffer holds is unknown outside of the host, and detaching or flushing a communicator's buffer
 * waits for that communicator's messages only.
 */
#include "bsend/in_flight.h"
#include "pmpi_wrap/abi/buffered_sends/buffer.h"
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"

int SUFFIXED(accel_Buffer_attach)(void *buffer, COUNT size)
{
    return buffer_attached(SUFFIXED(CALL_Buffer_attach), buffer, size,
                           host.SUFFIXED(Buffer_attach)(buffer, size));
}

int SUFFIXED(accel_Buffer_detach)(void *buffer, COUNT *size)
{
    in_flight_drain();
    return buffer_detached(SUFFIXED(CALL_Buffer_detach),
                           host.SUFFIXED(Buffer_detach)(buffer, size));
}

int SUFFIXED(accel_Comm_attach_buffer)(MPI_Comm comm, void *buffer, COUNT size)
{
    buffer_leave_to_host(SUFFIXED(CALL_Comm_attach_buffer));
    return host.SUFFIXED(Comm_attach_buffer)(comm, buffer, size);
}

int SUFFIXED(accel_Session_attach_buffer)(MPI_Session session, void *buffer, COUNT size)
{
    buffer_leave_to_host(SUFFIXED(CALL_Session_attach_buffer));
    return host.SUFFIXED(Session_attach_buffer)(session, buffer, size);
}

#ifndef LARGE_COUNT
int accel_Buffer_flush(void)
{
    in_flight_drain();
    thread_count(thread_self(), CALL_Buffer_flush, 0);
    return host.Buffer_flush();
}

/* Leave the call to the host: one request would have to stand for the host's messages and for
 * ours. */
int accel_Buffer_iflush(MPI_Request *request)
{
    buffer_leave_to_host(CALL_Buffer_iflush);
    return host.Buffer_iflush(request);
}
#endif
