#include "pmpi_wrap/abi/buffered_sends/message.h"

#include "bsend/pending.h"
#include "core/config.h"
#include "node/node.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/recording.h"

COLD void message_free_room(void)
{
    enum { STEPS = 2 }; /* each step receives some 30 messages */
    for (int i = 0; i < STEPS; i++)
        sync_progress();
    attached_buffer.given = 0;
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

/* True: the host would accept the message, and `data` and `bytes` describe it. */
static bool check_arguments(const struct message *m, struct buffer *data, size_t *bytes,
                            int *result)
{
    int ranks;
    const struct typemap *map = m->data ? typemap_of(m->type) : NULL;
    *data = (struct buffer){(char *)m->data, map, (size_t)m->count};
    return map && buffer_bytes(*data, bytes) && *bytes <= INT_MAX && m->tag >= 0 &&
           m->tag <= attached_buffer.max_tag && m->rank >= 0 && m->comm != constants.comm_null &&
           (*result = destination_count(m->comm, &ranks)) == MPI_SUCCESS && m->rank < ranks;
}

/* How many messages to test for completion before each copy, and if there is no room for it. */
enum { TESTS = 2, TESTS_FOR_ROOM = 16 };

static struct in_flight *claim_copy(size_t bytes)
{
    struct in_flight *copy = NULL;
    size_t room = bytes + MPI_BSEND_OVERHEAD;
    in_flight_look(TESTS);
    if (in_flight_count < attached_buffer.max_copies && !(copy = in_flight_claim(bytes, room))) {
        in_flight_look(TESTS_FOR_ROOM);
        copy = in_flight_claim(bytes, room);
    }
    return copy;
}

/* Why a copy is sent: because that is faster, or because other messages are pending (pending.h);
 * then waiting for room or not. */
enum motive { FASTER, PENDING, PENDING_MAY_WAIT };

/* The member that a message goes to; negative: it is on another node. */
static int receiver_of(const struct message *m)
{
    int member = member_of_rank((long)BITS(m->comm), m->rank), inter = 0, world = -1;
    if (member >= 0 || !node.header)
        return member;
    MPI_Group group;
    host.Comm_test_inter(m->comm, &inter);
    int result = inter ? host.Comm_remote_group(m->comm, &group) : host.Comm_group(m->comm, &group);
    if (result != MPI_SUCCESS)
        return -1;
    host.Group_translate_ranks(group, 1, &m->rank, world_group(), &world);
    host.Group_free(&group);
    return world < 0 ? -1 : node_member_of(world);
}

static void count_fast(enum call call, const struct message *m, size_t bytes)
{
    thread_count(thread_self(), call, bytes);
    if (config.stats)
        recording_traffic(receiver_of(m), bytes);
}

static NOINLINE bool send_copy(enum call call, const struct message *m, enum motive motive,
                               int *result)
{
    MPI_Request request;
    struct buffer data;
    size_t bytes = 0;
    bool may_wait = motive == PENDING_MAY_WAIT;
    *result = MPI_SUCCESS;
    struct in_flight *copy = NULL;
    if (check_arguments(m, &data, &bytes, result))
        copy = motive == FASTER ? claim_copy(bytes)
                                : pending_claim(bytes, bytes + MPI_BSEND_OVERHEAD, may_wait);
    if (*result != MPI_SUCCESS)
        message_deferred(call, bytes, *result);
    if (!copy)
        return *result != MPI_SUCCESS;
    buffer_fill(copy->copy, data, 0, bytes, copy->block.at && attached_buffer.nontemporal);
    *result = host.Isend(copy->copy, (int)bytes, MPI_PACKED, m->rank, m->tag, m->comm, &request);
    if (host_wait_sleeps())
        host_wait_sent_to(member_of_rank((long)BITS(m->comm), m->rank));
    if (UNLIKELY(*result != MPI_SUCCESS))
        in_flight_drop(copy);
    else if (motive == FASTER)
        in_flight_add(copy, BITS(request));
    else
        pending_add_copy(copy, BITS(request), may_wait);
    if (motive == FASTER && attached_buffer.is_fast)
        count_fast(call, m, bytes);
    else
        message_deferred(call, bytes, *result);
    return true;
}

bool message_send_copy(enum call call, const struct message *m, int *result)
{
    return send_copy(call, m, FASTER, result);
}

/* ---- a host that waits for receivers ---- */

/* True: the message is complete, or in_flight.h keeps its request. */
static bool is_complete_or_kept(MPI_Request request, size_t bytes, bool reserved, bool may_wait)
{
    return request == attached_buffer.complete_at_once ||
           pending_add(BITS(request), bytes + MPI_BSEND_OVERHEAD, reserved, may_wait);
}

int message_send_guarded(enum call call, const struct message *m, size_t bytes, bool may_wait,
                         MPI_Request *request)
{
    int result;
    bool reserved = false;
    *request = attached_buffer.complete_at_once;
    if (UNLIKELY(in_flight_pending) && m->rank >= 0) { /* not to MPI_PROC_NULL */
        reserved = pending_reserve(bytes + MPI_BSEND_OVERHEAD);
        if (!reserved && in_flight_pending &&
            send_copy(call, m, may_wait ? PENDING_MAY_WAIT : PENDING, &result))
            return result;
        if (!reserved && may_wait)
            in_flight_wait_for_pending();
    }
    result = host.Ibsend(m->data, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    if (result == MPI_SUCCESS && is_complete_or_kept(*request, bytes, reserved, may_wait))
        *request = attached_buffer.complete_at_once;
    return message_deferred(call, bytes, result);
}

/* ---- nonblocking sends ---- */

int message_start(enum call call, const struct message *m, MPI_Request *request)
{
    int result;
    size_t bytes = message_bytes(m);
    message_make_room(bytes);
    if (bytes > attached_buffer.copied_from && message_send_copy(call, m, &result))
        return result == MPI_SUCCESS ? complete_request(request) : result;
    if (attached_buffer.guarded) {
        result = message_send_guarded(call, m, bytes, false, request);
        return result == MPI_SUCCESS && *request == attached_buffer.complete_at_once
                   ? complete_request(request)
                   : result;
    }
    result = host.Ibsend(m->data, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    return message_deferred(call, bytes, result);
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
