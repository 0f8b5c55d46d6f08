/* Sending buffered messages (MPI-4.0, 3.4).
 *
 * The program's buffer is attached to the host, which sends short messages out of it. Messages
 * longer than QUIRK_EAGER_BYTES, which the receiver reads out of the sender's memory, are packed
 * into the send buffer instead (alloc/send_buffer.h). The host sends them from there by MPI_Isend,
 * and the receiver's host copies them without the OS (peer_copy/vm_copy.h). The send buffer counts
 * the bytes that were read, so the sender detects without an answer that the room is free. Where
 * the copy policy is COPY_POLICY_NONTEMPORAL, because ordinary stores into memory that the receiver
 * has read are slow, this gains nothing over Open MPI, and the host sends all messages.
 *
 * With QUIRK_BSEND_COMPLETES_LATE all long messages go this way under every copy policy. There a
 * long message leaves the program's buffer only when an acknowledgement arrives. The host's
 * barrier would deliver the acknowledgements, but ours does not: a buffer for 100 messages of 16 KB
 * that were all received before the barrier refused some of the next 100, and MPI_Buffer_detach
 * waited until the receiver called MPI again. Tests: bsend_refill, bsend_room_again, bsend_gone.
 * They use the send buffer even if MPIACCEL_BSEND is off, and then count as deferred. If the shared
 * heap is full, copies lie in private memory, and each is freed when its acknowledgement arrives.
 * Messages for which no copy has room go into the program's buffer, so they are seldom refused.
 *
 * With QUIRK_BSEND_WAITS messages go by MPI_Ibsend: see bsend/pending.h.
 *
 * The host reports wrong arguments, under the name of the call that the program made: this library
 * sends a message only if all its arguments are right.
 */
#ifndef MPIACCEL_MESSAGE_H
#define MPIACCEL_MESSAGE_H

#include "pmpi_wrap/abi/buffered_sends/buffer.h"
#include "pmpi_wrap/abi/datatypes/typemap_of.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/host_api.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/quirks.h"

#include <limits.h>

struct message {
    const void *data;
    MPI_Count count; /* from 0 to INT_MAX: the host sends other messages */
    MPI_Datatype type;
    int rank, tag;
    MPI_Comm comm;
};

#define UNKNOWN_BYTES (SIZE_MAX / 4) /* more than any message has; two of them do not overflow */

HOT_INLINE size_t message_bytes(const struct message *m)
{
    const struct typemap *map = typemap_of(m->type);
    return map ? map->size * (size_t)m->count : UNKNOWN_BYTES;
}

void message_free_room(void);

/* Before the host puts so many bytes into the program's buffer. A host with
 * QUIRK_BSEND_REFUSES_EARLY must make progress first if they may not fit: its own barrier would
 * have done so, but the barrier of this library does not. */
HOT_INLINE void message_make_room(size_t bytes)
{
    if (quirk(QUIRK_BSEND_REFUSES_EARLY) &&
        UNLIKELY(attached_buffer.given + bytes + MPI_BSEND_OVERHEAD > attached_buffer.room))
        message_free_room();
}

/* Count and announce a message that the host has sent. Returns `result`, the host's. */
static inline int message_deferred(enum call call, size_t bytes, int result)
{
    if (quirk(QUIRK_BSEND_REFUSES_EARLY))
        counter_add(&attached_buffer.given, bytes + MPI_BSEND_OVERHEAD);
    note_deferred(call, attached_buffer.is_fast ? REASON_HOST_MESSAGE : REASON_NO_BUFFER);
    if (host_wait_sleeps())
        host_wait_sent();
    return result;
}

/* Send it out of a copy. False: the host has to send it. */
bool message_send_copy(enum call call, const struct message *m, int *result);

/* Send it by the host's MPI_Ibsend. If the message is complete, or in_flight.h keeps the request,
 * `request` is attached_buffer.complete_at_once. */
int message_send_guarded(enum call call, const struct message *m, size_t bytes, bool may_wait,
                         MPI_Request *request);

/* MPI_Bsend. */
HOT_INLINE int message_send(enum call call, const struct message *m)
{
    int result;
    size_t bytes = message_bytes(m);
    message_make_room(bytes);
    if (UNLIKELY(bytes > attached_buffer.copied_from) && message_send_copy(call, m, &result))
        return result;
    if (LIKELY(attached_buffer.guarded)) {
        MPI_Request request;
        return message_send_guarded(call, m, bytes, true, &request);
    }
    result = host.Bsend(m->data, (int)m->count, m->type, m->rank, m->tag, m->comm);
    return message_deferred(call, bytes, result);
}

/* MPI_Ibsend. */
int message_start(enum call call, const struct message *m, MPI_Request *request);

/* A buffered send without a request that must not wait as MPI_Bsend may. */
int message_send_without_waiting(enum call call, const struct message *m);

#endif
