#include "pmpi_wrap/abi/buffered_sends/message.h"

#include "core/config.h"
#include "core/copy_policy.h"
#include "node/node.h"
#include "pmpi_wrap/abi/buffered_sends/in_flight.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/recording.h"

/* How messages are sent while a buffer is attached. Set when one is attached or detached. */
static struct attached_buffer {
    _Atomic size_t copied_from; /* longer messages are sent out of a copy */
    _Atomic bool guarded;       /* MPI_Ibsend instead of MPI_Bsend, which may wait for receivers */
    _Atomic bool is_fast;       /* MPIACCEL_BSEND is on */

    /* Bytes of the buffer, and an upper bound of those in use: what the host has been given since
     * it last made progress. Only with QUIRK_BSEND_REFUSES_EARLY. */
    _Atomic uint64_t room, given;

    int max_tag, world_size;      /* what the host accepts */
    bool nontemporal;             /* copies are written with non-temporal stores */
    MPI_Request complete_at_once; /* the host's request of a message that is already complete */
} attached_buffer = {.copied_from = SIZE_MAX, .room = UINT64_MAX};

/* ---- the buffer ---- */

static _Atomic bool left_to_host, finished, is_open;

/* Bytes of the buffer that the library provides for MPI_BUFFER_AUTOMATIC. */
static const uint64_t automatic_bytes = UINT64_C(1) << 26;

/* Returns false if the host sends all messages. */
static bool open_buffer(uint64_t bytes, bool fast)
{
    struct attached_buffer *b = &attached_buffer;
    if (left_to_host || finished)
        return false;
    /* Open MPI 4.1 reports success for a second attach, and ignores it. */
    uint64_t room = is_open ? min_size(b->room, bytes) : bytes;
    b->room = room;
    b->given = 0;
    is_open = true;
    b->is_fast = fast;
    if (!b->max_tag)
        b->max_tag = largest_tag();
    b->world_size = node_world_size();
    b->nontemporal = copy_policy_configured(node.header->copy_policy) & COPY_POLICY_NONTEMPORAL;
    bool completes_late = quirk(QUIRK_BSEND_COMPLETES_LATE);
    uint32_t limit = quirk(QUIRK_ISEND_LIMIT);
    in_flight_open(&(struct in_flight_limits){.room = room,
                                              .overhead = MPI_BSEND_OVERHEAD,
                                              .copies = limit ? limit : UINT32_MAX,
                                              .shared = fast || completes_late,
                                              .wait_ns = config.bsend_wait * UINT64_C(1000000)});
    if (completes_late || (fast && copy_policy_replaces_host_copies() && !b->nontemporal))
        b->copied_from = quirk(QUIRK_EAGER_BYTES);
    if (quirk(QUIRK_BSEND_WAITS) && fast) {
        if (b->complete_at_once == HANDLE_OF(MPI_Request, 0))
            complete_request(&b->complete_at_once);
        b->guarded = true;
    }
    return true;
}

/* Returns whether messages were fast. */
static bool close_buffer(void)
{
    struct attached_buffer *b = &attached_buffer;
    bool was_fast = b->is_fast;
    b->copied_from = SIZE_MAX;
    b->guarded = is_open = b->is_fast = false;
    b->room = left_to_host ? 0 : UINT64_MAX;
    in_flight_close();
    return was_fast;
}

int buffer_attached(enum call call, const void *buffer, MPI_Count size, int result)
{
    if (result != MPI_SUCCESS)
        return result;
    enum reason reason = !node.header            ? node.why_not
                         : gpu_memory_possible() ? REASON_GPU
                                                 : REASON_NONE;
    if (reason == REASON_NOT_INITIALISED)
        attached_buffer.room = 0; /* unknown: each message makes room first */
    uint64_t bytes = buffer == MPI_BUFFER_AUTOMATIC ? automatic_bytes : (uint64_t)size;
    if (reason == REASON_NONE && !open_buffer(bytes, config.bsend))
        reason = REASON_HOST_BUFFERS;
    if (reason == REASON_NONE && config.bsend)
        thread_count(thread_self(), call, 0);
    else
        note_deferred(call, config.bsend ? reason : REASON_OFF);
    return result;
}

int buffer_detached(enum call call, int result)
{
    if (result == MPI_SUCCESS && close_buffer())
        thread_count(thread_self(), call, 0);
    else
        note_deferred(call, REASON_NO_BUFFER);
    return result;
}

void buffer_leave_to_host(enum call call)
{
    left_to_host = true;
    attached_buffer.room = 0; /* the room of other buffers is unknown */
    attached_buffer.guarded = false;
    attached_buffer.copied_from = SIZE_MAX;
    note_deferred(call, REASON_HOST_BUFFERS);
}

void buffer_finish(void)
{
    in_flight_finish();
    close_buffer();
    finished = true;
    attached_buffer.complete_at_once = HANDLE_OF(MPI_Request, 0);
}

void buffer_reopen(void)
{
    finished = false;
}

/* ---- messages that the host sends ---- */

static COLD void free_room(void)
{
    enum { STEPS = 2 }; /* each step receives some 30 messages */
    for (int i = 0; i < STEPS; i++)
        sync_progress();
    attached_buffer.given = 0;
}

static uint64_t room_of_message(const struct message *m)
{
    return m->bytes + MPI_BSEND_OVERHEAD;
}

void message_make_room(const struct message *m)
{
    if (quirk(QUIRK_BSEND_REFUSES_EARLY) &&
        UNLIKELY(attached_buffer.given + room_of_message(m) > attached_buffer.room))
        free_room();
}

int message_deferred(enum call call, const struct message *m, int result)
{
    if (quirk(QUIRK_BSEND_REFUSES_EARLY))
        counter_add(&attached_buffer.given, room_of_message(m));
    note_deferred(call, attached_buffer.is_fast ? REASON_HOST_MESSAGE : REASON_NO_BUFFER);
    if (host_wait_sleeps())
        host_wait_sent();
    return result;
}

/* ---- messages out of a copy ---- */

/* The number of ranks that a message on `comm` can go to. A message to MPI_PROC_NULL makes the host
 * check `comm`, so that its error names the call that the program made. */
static int destination_count(MPI_Comm comm, int *ranks)
{
    int inter = 0;
    if (comm == MPI_COMM_WORLD) {
        *ranks = attached_buffer.world_size;
        return MPI_SUCCESS;
    }
    int result = host.Bsend(NULL, 0, constants.byte, MPI_PROC_NULL, 0, comm);
    if (result != MPI_SUCCESS)
        return result;
    host.Comm_test_inter(comm, &inter);
    return inter ? host.Comm_remote_size(comm, ranks) : host.Comm_size(comm, ranks);
}

/* Whether the host would accept the message. */
static bool has_right_arguments(const struct message *m, int *result)
{
    int ranks;
    return m->data && m->bytes <= INT_MAX && m->tag >= 0 && m->tag <= attached_buffer.max_tag &&
           m->rank >= 0 && m->comm != constants.comm_null &&
           (*result = destination_count(m->comm, &ranks)) == MPI_SUCCESS && m->rank < ranks;
}

static void count_fast(enum call call, const struct message *m)
{
    thread_count(thread_self(), call, m->bytes);
    if (config.stats)
        recording_traffic(member_by_host((long)BITS(m->comm), m->rank), m->bytes);
}

/* Begin to send the copy. Returns the host's result. */
static int start_copy(const struct message *m, struct in_flight *copy, enum in_flight_motive motive)
{
    MPI_Request request;
    int result =
        host.Isend(copy->copy, (int)m->bytes, MPI_PACKED, m->rank, m->tag, m->comm, &request);
    if (host_wait_sleeps())
        host_wait_sent_to(member_of_rank((long)BITS(m->comm), m->rank));
    if (UNLIKELY(result != MPI_SUCCESS))
        in_flight_drop(copy);
    else
        in_flight_add(copy, request, motive);
    return result;
}

/* Send the message from a copy. False: the host has to send it. */
static NOINLINE bool send_copy(enum call call, const struct message *m,
                               enum in_flight_motive motive, int *result)
{
    struct buffer data = {(char *)m->data, typemap_of(m->type), (size_t)m->count};
    struct in_flight *copy = NULL;
    *result = MPI_SUCCESS;
    if (data.map && has_right_arguments(m, result))
        copy = in_flight_claim(m->bytes, motive);
    if (*result != MPI_SUCCESS)
        message_deferred(call, m, *result);
    if (!copy)
        return *result != MPI_SUCCESS;
    buffer_fill(copy->copy, data, 0, m->bytes, copy->block.at && attached_buffer.nontemporal);
    *result = start_copy(m, copy, motive);
    if (motive == IN_FLIGHT_FASTER && attached_buffer.is_fast)
        count_fast(call, m);
    else
        message_deferred(call, m, *result);
    return true;
}

/* ---- a host that waits for receivers ---- */

/* Whether the message is complete, or its request is now in the list of messages in flight. */
static bool is_complete_or_kept(MPI_Request request, size_t bytes, bool reserved, bool may_wait)
{
    return request == attached_buffer.complete_at_once ||
           in_flight_keep(request, bytes, reserved, may_wait);
}

/* Send by the host's MPI_Ibsend. If the message needs no request any more, `request` is
 * attached_buffer.complete_at_once. */
static int send_guarded(enum call call, const struct message *m, bool may_wait,
                        MPI_Request *request)
{
    int result;
    bool reserved = false;
    *request = attached_buffer.complete_at_once;
    if (UNLIKELY(in_flight_pending) && m->rank >= 0) { /* not to MPI_PROC_NULL */
        reserved = in_flight_reserve(m->bytes);
        if (!reserved && in_flight_pending &&
            send_copy(call, m, may_wait ? IN_FLIGHT_PENDING_MAY_WAIT : IN_FLIGHT_PENDING, &result))
            return result;
        if (!reserved && may_wait)
            in_flight_wait_for_pending();
    }
    result = host.Ibsend(m->data, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    if (result == MPI_SUCCESS && is_complete_or_kept(*request, m->bytes, reserved, may_wait))
        *request = attached_buffer.complete_at_once;
    return message_deferred(call, m, result);
}

/* ---- the calls ---- */

int message_send(enum call call, const struct message *m)
{
    int result;
    MPI_Request request;
    message_make_room(m);
    if (UNLIKELY(m->bytes > attached_buffer.copied_from) &&
        send_copy(call, m, IN_FLIGHT_FASTER, &result))
        return result;
    if (LIKELY(attached_buffer.guarded))
        return send_guarded(call, m, true, &request);
    result = host.Bsend(m->data, (int)m->count, m->type, m->rank, m->tag, m->comm);
    return message_deferred(call, m, result);
}

int message_start(enum call call, const struct message *m, MPI_Request *request)
{
    int result;
    message_make_room(m);
    if (m->bytes > attached_buffer.copied_from && send_copy(call, m, IN_FLIGHT_FASTER, &result))
        return result == MPI_SUCCESS ? complete_request(request) : result;
    if (attached_buffer.guarded) {
        result = send_guarded(call, m, false, request);
        return result == MPI_SUCCESS && *request == attached_buffer.complete_at_once
                   ? complete_request(request)
                   : result;
    }
    result = host.Ibsend(m->data, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    return message_deferred(call, m, result);
}

int message_send_without_waiting(enum call call, const struct message *m)
{
    MPI_Request request;
    if (!attached_buffer.guarded)
        return message_send(call, m);
    int result = message_start(call, m, &request);
    if (result == MPI_SUCCESS && request != attached_buffer.complete_at_once)
        host.Request_free(&request);
    return result;
}
