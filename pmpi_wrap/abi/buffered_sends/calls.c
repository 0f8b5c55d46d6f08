/* Buffered sends (MPI-4.0, 3.4, 3.6, 3.7 and 3.9): one handler per MPI call. */
#include "pmpi_wrap/abi/buffered_sends/in_flight.h"
#include "pmpi_wrap/abi/buffered_sends/message.h"
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/host_wait.h"

/* ---- sending ---- */

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

/* ---- persistent requests ---- */

int SUFFIXED(accel_Bsend_init)(const void *data, COUNT count, MPI_Datatype type, int rank, int tag,
                               MPI_Comm comm, MPI_Request *request)
{
    int result = host.SUFFIXED(Bsend_init)(data, count, type, rank, tag, comm, request);
    struct message m = message_of(data, count, type, rank, tag, comm);
    return persistent_created(SUFFIXED(CALL_Bsend_init), &m, request, result);
}

#ifndef LARGE_COUNT
/* Wake all members that sleep, since the request does not show which of them receives. */
static int wake_receivers(int result)
{
    if (host_wait_sleeps())
        host_wait_sent_to(-1);
    return result;
}

static int start_message(enum call call, MPI_Request *request)
{
    struct persistent *p = persistent_find(request);
    return p ? persistent_start(call, p, request) : wake_receivers(host.Start(request));
}

int accel_Start(MPI_Request *request)
{
    return start_message(CALL_Start, request);
}

int accel_Startall(int count, MPI_Request requests[])
{
    bool any = false;
    if (persistent_exist())
        for (int i = 0; requests && i < count; i++)
            any |= persistent_find(&requests[i]) != NULL;
    if (!any)
        return wake_receivers(host.Startall(count, requests));
    int result = MPI_SUCCESS;
    for (int i = 0; i < count && result == MPI_SUCCESS; i++)
        result = start_message(CALL_Startall, &requests[i]);
    return result;
}

int accel_Request_free(MPI_Request *request)
{
    struct persistent *p = persistent_find(request);
    if (p)
        persistent_free(p, request);
    return host.Request_free(request);
}
#endif

/* ---- buffers ----
 *
 * All buffers are attached to the host. Only the process's buffer is fast. After the first of
 * MPI-4.1's calls that attach another kind of buffer the host sends all messages: which of them a
 * session's buffer holds is unknown outside of the host, and detaching or flushing a communicator's
 * buffer waits for that communicator's messages only. */

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
