/* The program's buffers (MPI-4.1, 3.6): one of the process, and, where MPI is 4.1, of communicators
 * and sessions. All are attached to the host.
 *
 * Which messages a buffer of a session holds we could not tell, and detaching or flushing a
 * communicator's buffer waits for its own messages only. So from the first such buffer on all
 * messages are the host's.
 */
#include "alloc/node.h"
#include "bsend/in_flight.h"
#include "core/config.h"
#include "pmpi_wrap/abi/buffered_sends/bsend.h"

#if KNOWS_BUFFERS
/* Of the host's own. */
static const uint64_t automatic_bytes = UINT64_C(1) << 26;

static uint64_t bytes_in(const void *buffer, MPI_Count size)
{
    return buffer == MPI_BUFFER_AUTOMATIC ? automatic_bytes : (uint64_t)size;
}

static bool is_known(const void *buffer)
{
    (void)buffer;
    return true;
}
#else
static uint64_t bytes_in(const void *buffer, MPI_Count size)
{
    (void)buffer;
    return (uint64_t)size;
}

/* The host may be newer than the headers that this was built with: then there are calls that we do
 * not see, and a constant in place of a buffer, which is no address. (To ask for a name takes half
 * a microsecond.) */
static bool host_is_newer(void)
{
    static _Atomic enum { UNKNOWN, NO, YES } known;
    if (UNLIKELY(known == UNKNOWN))
        known = host_has("Comm_attach_buffer") ? YES : NO;
    return known == YES;
}

static bool is_known(const void *buffer)
{
    bool is_address = (uintptr_t)buffer + LAYOUT_PAGE > 2 * (uintptr_t)LAYOUT_PAGE;
    return is_address && !host_is_newer();
}
#endif

/* ---- the process's ---- */

static enum reason why_not_ours(const void *buffer)
{
    return !node.header           ? node.why_not
           : gpu_runtime_loaded() ? REASON_GPU
           : !is_known(buffer)    ? REASON_HOST_BUFFERS
                                  : REASON_COUNT;
}

static int attached(enum call call, const void *buffer, MPI_Count size, int result)
{
    if (result != MPI_SUCCESS)
        return result;
    enum reason reason = why_not_ours(buffer);
    if (reason == REASON_COUNT && !bsend_open(bytes_in(buffer, size), config.bsend))
        reason = REASON_HOST_BUFFERS;
    if (reason == REASON_COUNT && config.bsend)
        thread_count(thread_self(), call, 0);
    else
        deferred(call, config.bsend ? reason : REASON_OFF);
    return result;
}

int accel_Buffer_attach(void *buffer, int size)
{
    return attached(CALL_Buffer_attach, buffer, size, host.Buffer_attach(buffer, size));
}

static int detached(enum call call, int result)
{
    if (result == MPI_SUCCESS && bsend_close())
        thread_count(thread_self(), call, 0);
    else
        deferred(call, REASON_NO_BUFFER);
    return result;
}

int accel_Buffer_detach(void *buffer, int *size)
{
    in_flight_drain();
    return detached(CALL_Buffer_detach, host.Buffer_detach(buffer, size));
}

#if MPI_VERSION >= 4
int accel_Buffer_attach_c(void *buffer, MPI_Count size)
{
    return attached(CALL_Buffer_attach_c, buffer, size, host.Buffer_attach_c(buffer, size));
}

int accel_Buffer_detach_c(void *buffer, MPI_Count *size)
{
    in_flight_drain();
    return detached(CALL_Buffer_detach_c, host.Buffer_detach_c(buffer, size));
}
#endif

/* ---- MPI-4.1 ---- */

#if KNOWS_BUFFERS
int accel_Buffer_flush(void)
{
    in_flight_drain();
    thread_count(thread_self(), CALL_Buffer_flush, 0);
    return host.Buffer_flush();
}

static void leave_all_to_host(enum call call)
{
    bsend_stop();
    deferred(call, REASON_HOST_BUFFERS);
}

/* It would have to give the program one request for the host's messages and for ours. */
int accel_Buffer_iflush(MPI_Request *request)
{
    leave_all_to_host(CALL_Buffer_iflush);
    return host.Buffer_iflush(request);
}

int accel_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size)
{
    leave_all_to_host(CALL_Comm_attach_buffer);
    return host.Comm_attach_buffer(comm, buffer, size);
}

int accel_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size)
{
    leave_all_to_host(CALL_Comm_attach_buffer_c);
    return host.Comm_attach_buffer_c(comm, buffer, size);
}

int accel_Session_attach_buffer(MPI_Session session, void *buffer, int size)
{
    leave_all_to_host(CALL_Session_attach_buffer);
    return host.Session_attach_buffer(session, buffer, size);
}

int accel_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size)
{
    leave_all_to_host(CALL_Session_attach_buffer_c);
    return host.Session_attach_buffer_c(session, buffer, size);
}
#endif
