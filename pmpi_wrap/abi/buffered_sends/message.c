#include "pmpi_wrap/abi/buffered_sends/message.h"

#include "bsend/in_flight.h"
#include "core/config.h"
#include "node/node.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/recording.h"

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
        in_flight_add(copy, BITS(request), motive);
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
           in_flight_keep(BITS(request), bytes, reserved, may_wait);
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
