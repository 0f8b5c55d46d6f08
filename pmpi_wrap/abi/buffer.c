/* The program's buffers (MPI-4.1, 3.6): one of the process, and, where MPI is 4.1, of communicators
 * and sessions. All are attached to the host, and from the first one on messages may be fast.
 *
 * What may go from here does not depend on whose buffer a message would be in, but detaching and
 * flushing a communicator's waits for its own messages only; for a session's we could not tell
 * which those are. A nonblocking flush would have to give the program one request for its host's
 * and for ours. So after the first of either all messages are the host's.
 */
#include "alloc/node.h"
#include "bsend/kept.h"
#include "bsend/late.h"
#include "bsend/peers.h"
#include "bsend/pending.h"
#include "bsend/short.h"
#include "core/config.h"
#include "pmpi_wrap/abi/bsend.h"

#include <limits.h>

/* Communicators that have one, and how many. */
static struct registry owners = REGISTRY_INITIALIZER;
static _Atomic uint32_t owner_count;

static _Atomic bool process_has_one;

/* ---- whose messages ---- */

static bool is_comm(uintptr_t comm, uintptr_t wanted)
{
    return comm == wanted;
}

static bool is_of_process(uintptr_t comm, uintptr_t unused)
{
    (void)unused;
    return !owner_count || !registry_find(&owners, comm);
}

static bool is_any(uintptr_t comm, uintptr_t unused)
{
    (void)comm, (void)unused;
    return true;
}

static void settle_process(void)
{
    kept_drain(is_of_process, 0);
    pending_drain();
    short_drain();
    late_drain();
}

/* ---- attaching ---- */

#if KNOWS_BUFFERS
/* Of the host's own. */
static const uint64_t automatic_bytes = UINT64_C(1) << 26;

static bool is_automatic(const void *buffer)
{
    return buffer == MPI_BUFFER_AUTOMATIC;
}

static uint64_t bytes_in(const void *buffer, MPI_Count size)
{
    return is_automatic(buffer) ? automatic_bytes : (uint64_t)size;
}

static bool is_known(const void *buffer)
{
    (void)buffer;
    return true;
}
#else
static bool is_automatic(const void *buffer)
{
    (void)buffer;
    return false;
}

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
    return is_address(buffer) && !host_is_newer();
}
#endif

static enum reason judge(const void *buffer)
{
    return !config.bsend          ? REASON_OFF
           : !node.header         ? node.why_not
           : gpu_runtime_loaded() ? REASON_GPU
           : !is_known(buffer)    ? REASON_HOST_BUFFERS
                                  : REASON_COUNT;
}

static int attached(enum call call, const void *buffer, MPI_Count size, bool only_one, int result)
{
    if (result != MPI_SUCCESS)
        return result;
    uint64_t bytes = bytes_in(buffer, size);
    enum reason reason = judge(buffer);
    bsend_has_room(bytes);
    if (reason == REASON_COUNT && !bsend_open(bytes, only_one))
        reason = REASON_HOST_BUFFERS;
    if (reason == REASON_COUNT)
        thread_count(thread_self(), call, 0);
    else
        deferred(call, reason);
    return result;
}

static int attached_to_process(enum call call, const void *buffer, MPI_Count size, int result)
{
    if (result == MPI_SUCCESS)
        process_has_one = true;
    return attached(call, buffer, size, !owner_count, result);
}

/* ---- detaching ---- */

static int detached(enum call call, int result)
{
    bool was_open = kept_is_open;
    if (result == MPI_SUCCESS && !process_has_one && !owner_count)
        bsend_close();
    if (was_open)
        thread_count(thread_self(), call, 0);
    else
        deferred(call, REASON_NO_BUFFER);
    return result;
}

static int detached_from_process(enum call call, int result)
{
    if (result == MPI_SUCCESS) {
        process_has_one = false;
        kept_forget(is_of_process, 0);
    }
    return detached(call, result);
}

/* ---- the process's ---- */

/* One to attach in its place, of twice the length; NULL: itself. */
static void *longer_than(void *buffer, MPI_Count size, MPI_Count most)
{
    return is_known(buffer) && !is_automatic(buffer) ? longer_take(buffer, size, most) : NULL;
}

int accel_Buffer_attach(void *buffer, int size)
{
    void *longer = longer_than(buffer, size, INT_MAX);
    int result = longer ? host.Buffer_attach(longer, 2 * size) : host.Buffer_attach(buffer, size);
    longer_attached(longer, result);
    return attached_to_process(CALL_Buffer_attach, buffer, size, result);
}

int accel_Buffer_detach(void *buffer, int *size)
{
    settle_process();
    int result = host.Buffer_detach(buffer, size);
    if (result == MPI_SUCCESS)
        *size = (int)longer_give_back(buffer, *size);
    return detached_from_process(CALL_Buffer_detach, result);
}

#if MPI_VERSION >= 4
int accel_Buffer_attach_c(void *buffer, MPI_Count size)
{
    void *longer = longer_than(buffer, size, PTRDIFF_MAX);
    int result =
        longer ? host.Buffer_attach_c(longer, 2 * size) : host.Buffer_attach_c(buffer, size);
    longer_attached(longer, result);
    return attached_to_process(CALL_Buffer_attach_c, buffer, size, result);
}

int accel_Buffer_detach_c(void *buffer, MPI_Count *size)
{
    settle_process();
    int result = host.Buffer_detach_c(buffer, size);
    if (result == MPI_SUCCESS)
        *size = longer_give_back(buffer, *size);
    return detached_from_process(CALL_Buffer_detach_c, result);
}
#endif

/* ---- what ends ---- */

static void lose_owner(MPI_Comm comm)
{
    if (owner_count && registry_remove(&owners, BITS(comm)))
        owner_count--;
}

void bsend_forget(const MPI_Comm *comm)
{
    if (!comm)
        return;
    if (kept_is_open)
        kept_forget(is_comm, BITS(*comm));
    peers_forget(BITS(*comm));
    lose_owner(*comm);
    persistent_forget(*comm);
}

void bsend_refused(MPI_Comm comm)
{
    kept_forget(is_comm, BITS(comm));
}

void bsend_finish(void)
{
    kept_drain(is_any, 0);
    pending_drain();
    short_drain();
    late_finish();
    bsend_close();
    bsend_stop();
}

/* ---- MPI-4.1 ---- */

#if KNOWS_BUFFERS
static int attached_to_comm(enum call call, MPI_Comm comm, const void *buffer, MPI_Count size,
                            int result)
{
    if (result == MPI_SUCCESS) {
        kept_forget(is_comm, BITS(comm));
        longer_others_attached();
        if (registry_add(&owners, BITS(comm), &owners, 0))
            owner_count++;
        else
            bsend_stop();
    }
    return attached(call, buffer, size, false, result);
}

static int detached_from_comm(enum call call, MPI_Comm comm, int result)
{
    if (result == MPI_SUCCESS) {
        lose_owner(comm);
        kept_forget(is_comm, BITS(comm));
    }
    return detached(call, result);
}

int accel_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size)
{
    return attached_to_comm(CALL_Comm_attach_buffer, comm, buffer, size,
                            host.Comm_attach_buffer(comm, buffer, size));
}

int accel_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size)
{
    return attached_to_comm(CALL_Comm_attach_buffer_c, comm, buffer, size,
                            host.Comm_attach_buffer_c(comm, buffer, size));
}

int accel_Comm_detach_buffer(MPI_Comm comm, void *buffer, int *size)
{
    kept_drain(is_comm, BITS(comm));
    return detached_from_comm(CALL_Comm_detach_buffer, comm,
                              host.Comm_detach_buffer(comm, buffer, size));
}

int accel_Comm_detach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count *size)
{
    kept_drain(is_comm, BITS(comm));
    return detached_from_comm(CALL_Comm_detach_buffer_c, comm,
                              host.Comm_detach_buffer_c(comm, buffer, size));
}

int accel_Buffer_flush(void)
{
    settle_process();
    thread_count(thread_self(), CALL_Buffer_flush, 0);
    return host.Buffer_flush();
}

int accel_Comm_flush_buffer(MPI_Comm comm)
{
    kept_drain(is_comm, BITS(comm));
    thread_count(thread_self(), CALL_Comm_flush_buffer, 0);
    return host.Comm_flush_buffer(comm);
}

int accel_Buffer_iflush(MPI_Request *request)
{
    bsend_stop();
    deferred(CALL_Buffer_iflush, REASON_HOST_BUFFERS);
    return host.Buffer_iflush(request);
}

int accel_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    bsend_stop();
    deferred(CALL_Comm_iflush_buffer, REASON_HOST_BUFFERS);
    return host.Comm_iflush_buffer(comm, request);
}

int accel_Session_attach_buffer(MPI_Session session, void *buffer, int size)
{
    bsend_stop();
    longer_others_attached();
    deferred(CALL_Session_attach_buffer, REASON_HOST_BUFFERS);
    return host.Session_attach_buffer(session, buffer, size);
}

int accel_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size)
{
    bsend_stop();
    longer_others_attached();
    deferred(CALL_Session_attach_buffer_c, REASON_HOST_BUFFERS);
    return host.Session_attach_buffer_c(session, buffer, size);
}
#endif
