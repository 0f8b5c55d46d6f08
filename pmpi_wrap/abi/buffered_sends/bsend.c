/* Buffered sends (MPI-4.0, 3.4).
 *
 * The program's buffer is attached to the host (buffer.c), which sends short messages out of it.
 * Messages longer than HOST_EAGER, which the receiver reads out of the sender's memory, are packed
 * into the send buffer instead (alloc/send_buffer.h). The host sends them from there by MPI_Isend,
 * the receiver's host copies them without the OS (alloc/vm_copy.h), and the number of bytes read
 * tells the sender that the room is free. Where the copy policy says that the sender's stores into
 * memory that the receiver has read are slow (COPY_POLICY_NONTEMPORAL), this gains nothing over
 * Open MPI, which then sends all messages itself.
 *
 * MPICH needs it everywhere, as a guard. There only an answer of the receiver's tells the sender
 * that a long message has left the program's buffer. The host's barrier would bring the answers,
 * ours does not: a buffer for 100 messages of 16 KB that were all received before the barrier
 * refused some of the next 100. And MPI_Buffer_detach waited until the receiver called MPI again.
 * Tests: bsend_refill, bsend_room_again, bsend_gone. If the shared heap is full or MPIACCEL_BSEND
 * is off, copies lie in private memory; that is not faster, but there is room for a message both
 * here and in the program's buffer, so what was received before the last barrier is in nobody's
 * way.
 *
 * Open MPI's MPI_Bsend waits for receivers: see bsend/pending.h.
 *
 * The host judges wrong arguments, in the name of the call that the program made: a message is sent
 * from here only if all its arguments are right.
 */
#include "pmpi_wrap/abi/buffered_sends/bsend.h"

#include "alloc/node.h"
#include "bsend/in_flight.h"
#include "bsend/pending.h"
#include "core/config.h"
#include "core/copy_policy.h"
#include "core/sync.h"

#include <limits.h>

static bool has_been_sent(uintptr_t *bits)
{
    MPI_Request request = HANDLE_OF(MPI_Request, *bits);
    int done;
    int result = host.Test(&request, &done, MPI_STATUS_IGNORE);
    *bits = BITS(request);
    return done || result != MPI_SUCCESS;
}

/* ---- what is ours ---- */

/* Longer messages are copied here. */
static _Atomic size_t copied_from = SIZE_MAX;

/* The host's MPI_Bsend does not wait for receivers, because it is not called. */
static _Atomic bool guarded;

static _Atomic bool stopped, is_open, is_fast;

/* Bytes of the host's buffer, and of what it may have put there since it last made progress. */
static _Atomic uint64_t room = UINT64_MAX, given;

/* The request of a message that is complete in the call that began it. */
static MPI_Request complete_at_once;

static int most_tag, world_size;
static bool streams; /* copies go around the caches */

bool bsend_open(uint64_t bytes, bool fast)
{
    int *tag, found = 0;
    if (stopped)
        return false;
    room = is_open ? min_size(room, bytes) : bytes; /* Open MPI 4.1 calls a second one a success */
    given = 0;
    is_open = true;
    is_fast = fast;
    host.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&tag, &found);
    most_tag = found ? *tag : 0;
    host.Comm_size(MPI_COMM_WORLD, &world_size);
    streams = copy_policy_configured(node.header->copy_policy) & COPY_POLICY_NONTEMPORAL;
    in_flight_open(room, fast, has_been_sent);
    if (HOST_LEARNS_LATE || (fast && config.cma && !streams))
        copied_from = HOST_EAGER;
    if (HOST_WAITS_IN_BSEND && fast) {
        pending_open(room, config.bsend_wait * UINT64_C(1000000), has_been_sent);
        if (complete_at_once == HANDLE_OF(MPI_Request, 0))
            complete_request(&complete_at_once);
        guarded = true;
    }
    return true;
}

bool bsend_close(void)
{
    bool was_fast = is_fast;
    copied_from = SIZE_MAX;
    guarded = is_open = is_fast = false;
    room = UINT64_MAX;
    in_flight_close();
    return was_fast;
}

void bsend_stop(void)
{
    stopped = true;
    guarded = false;
    copied_from = SIZE_MAX;
}

void bsend_finish(void)
{
    in_flight_finish();
    bsend_close();
    bsend_stop();
}

/* ---- messages ---- */

#define UNKNOWN_BYTES (SIZE_MAX / 2) /* more than there can be */

HOT_INLINE size_t bytes_of(const struct message *m)
{
    const struct typemap *map = typemap_of(m->type);
    return map && (uint64_t)m->count <= INT_MAX ? map->size * (size_t)m->count : UNKNOWN_BYTES;
}

/* Before the host gets so many bytes. Open MPI 4.1 looks for messages that have been received only
 * when it has refused one; its barrier would have let it see them, ours does not. */
HOT_INLINE void look_for_room(size_t bytes)
{
    if (HOST_LOOKS_FOR_ROOM || LIKELY(given + bytes + MPI_BSEND_OVERHEAD <= room))
        return;
    for (int looks = 0; looks < 2; looks++) /* each takes some 30 messages */
        sync_progress();
    given = 0;
}

static int left_to_host(enum call call, size_t bytes, int result)
{
    if (!HOST_LOOKS_FOR_ROOM)
        counter_add(&given, bytes + MPI_BSEND_OVERHEAD);
    deferred(call, is_fast ? REASON_HOST_MESSAGE : REASON_NO_BUFFER);
    return result;
}

/* How many ranks messages on a communicator can go to. Whether it is one at all the host says by a
 * message to nobody, so that its error names the call that the program made. */
static int ranks_of(MPI_Comm comm, int *ranks)
{
    int inter = 0;
    if (comm == MPI_COMM_WORLD) {
        *ranks = world_size;
        return MPI_SUCCESS;
    }
    int result = host.Bsend(NULL, 0, constants.byte, MPI_PROC_NULL, 0, comm);
    if (result != MPI_SUCCESS)
        return result;
    host.Comm_test_inter(comm, &inter);
    return inter ? host.Comm_remote_size(comm, ranks) : host.Comm_size(comm, ranks);
}

/* The data, if they can be packed and the host would send the message. */
static bool is_right(const struct message *m, struct buffer *data, size_t *bytes, int *result)
{
    int ranks;
    const struct typemap *map = m->from ? typemap_of(m->type) : NULL;
    *data = (struct buffer){(char *)m->from, map, (size_t)m->count};
    return map && (uint64_t)m->count <= INT_MAX && buffer_bytes(*data, bytes) &&
           *bytes <= INT_MAX && m->tag >= 0 && m->tag <= most_tag && m->rank >= 0 &&
           m->comm != constants.comm_null && (*result = ranks_of(m->comm, &ranks)) == MPI_SUCCESS &&
           m->rank < ranks;
}

/* LOOKS: so many messages the host is asked about before each one; more if there is no room. MOST:
 * Open MPI has only 512 such sends under way, to whomever; then its MPI_Send waits for a receiver
 * that sleeps. */
enum { LOOKS = 2, LOOKS_FOR_ROOM = 16, MOST = HOST_WAITS_IN_BSEND ? 64 : INT_MAX };

static struct in_flight *claim(size_t bytes)
{
    struct in_flight *copy = NULL;
    in_flight_look(LOOKS);
    if (in_flight_count < MOST && !(copy = in_flight_claim(bytes))) {
        in_flight_look(LOOKS_FOR_ROOM);
        copy = in_flight_claim(bytes);
    }
    return copy;
}

/* How a copy is sent: because that is faster, or since others are pending (bsend/pending.h), then
 * waiting or not. */
enum how { FAST, BESIDE_PENDING, WAITING };

/* Send it out of a copy of ours. False: it is the host's. */
static NOINLINE bool send_copy(enum call call, const struct message *m, enum how how, int *result)
{
    MPI_Request request;
    struct buffer data;
    size_t bytes = 0;
    *result = MPI_SUCCESS;
    struct in_flight *copy = NULL;
    if (is_right(m, &data, &bytes, result))
        copy = how == FAST ? claim(bytes) : pending_claim(bytes, how == WAITING);
    if (*result != MPI_SUCCESS)
        left_to_host(call, bytes, *result);
    if (!copy)
        return *result != MPI_SUCCESS;
    buffer_fill(copy->copy, data, 0, bytes, copy->block.at && streams);
    *result = host.Isend(copy->copy, (int)bytes, MPI_PACKED, m->rank, m->tag, m->comm, &request);
    if (UNLIKELY(*result != MPI_SUCCESS))
        in_flight_drop(copy);
    else if (how == FAST)
        in_flight_add(copy, BITS(request));
    else
        pending_add_copy(copy, BITS(request), how == WAITING);
    if (how == FAST && is_fast)
        thread_count(thread_self(), call, bytes);
    else
        left_to_host(call, bytes, *result);
    return true;
}

/* ---- a host that waits for receivers ---- */

/* False, of *request: the message is not complete, and it is not remembered here. */
static bool remember(MPI_Request request, size_t bytes, bool reserved, bool may_wait)
{
    return request == complete_at_once ||
           pending_add(BITS(request), bytes + MPI_BSEND_OVERHEAD, reserved, may_wait);
}

static int send_guarded(enum call call, const struct message *m, size_t bytes, bool may_wait,
                        MPI_Request *request)
{
    int result;
    bool reserved = false;
    *request = complete_at_once;
    if (UNLIKELY(in_flight_pending)) {
        reserved = pending_reserve(bytes + MPI_BSEND_OVERHEAD);
        if (!reserved && in_flight_pending &&
            send_copy(call, m, may_wait ? WAITING : BESIDE_PENDING, &result))
            return result;
        if (!reserved && may_wait)
            in_flight_wait_for_pending();
    }
    result = host.Ibsend(m->from, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    if (result == MPI_SUCCESS && remember(*request, bytes, reserved, may_wait))
        *request = complete_at_once;
    return left_to_host(call, bytes, result);
}

/* ---- the calls ---- */

HOT_INLINE int send_message(enum call call, const struct message *m)
{
    int result;
    size_t bytes = bytes_of(m);
    look_for_room(bytes);
    if (UNLIKELY(bytes > copied_from) && send_copy(call, m, FAST, &result))
        return result;
    if (HOST_WAITS_IN_BSEND && LIKELY(guarded)) {
        MPI_Request request;
        return send_guarded(call, m, bytes, true, &request);
    }
    result = host.Bsend(m->from, (int)m->count, m->type, m->rank, m->tag, m->comm);
    return left_to_host(call, bytes, result);
}

static int start_message(enum call call, const struct message *m, MPI_Request *request)
{
    int result;
    size_t bytes = bytes_of(m);
    look_for_room(bytes);
    if (bytes > copied_from && send_copy(call, m, FAST, &result))
        return result == MPI_SUCCESS ? complete_request(request) : result;
    if (HOST_WAITS_IN_BSEND && guarded) {
        result = send_guarded(call, m, bytes, false, request);
        return result == MPI_SUCCESS && *request == complete_at_once ? complete_request(request)
                                                                     : result;
    }
    result = host.Ibsend(m->from, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    return left_to_host(call, bytes, result);
}

int bsend_start(enum call call, const struct message *m)
{
    MPI_Request request;
    if (!guarded)
        return send_message(call, m);
    int result = start_message(call, m, &request);
    if (result == MPI_SUCCESS && request != complete_at_once)
        host.Request_free(&request);
    return result;
}

int accel_Bsend(const void *from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
    return send_message(CALL_Bsend, &(struct message){from, count, type, rank, tag, comm});
}

int accel_Ibsend(const void *from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    if (!request)
        return left_to_host(CALL_Ibsend, 0,
                            host.Ibsend(from, count, type, rank, tag, comm, request));
    return start_message(CALL_Ibsend, &(struct message){from, count, type, rank, tag, comm},
                         request);
}

#if MPI_VERSION >= 4
int accel_Bsend_c(const void *from, MPI_Count count, MPI_Datatype type, int rank, int tag,
                  MPI_Comm comm)
{
    struct message m = {from, count, type, rank, tag, comm};
    if (LIKELY((uint64_t)count <= INT_MAX))
        return send_message(CALL_Bsend_c, &m);
    look_for_room(UNKNOWN_BYTES);
    return left_to_host(CALL_Bsend_c, UNKNOWN_BYTES,
                        host.Bsend_c(from, count, type, rank, tag, comm));
}

int accel_Ibsend_c(const void *from, MPI_Count count, MPI_Datatype type, int rank, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    struct message m = {from, count, type, rank, tag, comm};
    if (request && (uint64_t)count <= INT_MAX)
        return start_message(CALL_Ibsend_c, &m, request);
    look_for_room(UNKNOWN_BYTES);
    return left_to_host(CALL_Ibsend_c, UNKNOWN_BYTES,
                        host.Ibsend_c(from, count, type, rank, tag, comm, request));
}
#endif
