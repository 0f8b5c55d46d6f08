/* Sending buffered messages (MPI-4.0, 3.4), and the buffer that the program has attached for them
 * (3.6).
 *
 * The program's buffer is attached to the host, which sends short messages out of it. Messages
 * longer than QUIRK_EAGER_BYTES, which the receiver reads out of the sender's memory, are packed
 * into the send buffer instead (alloc/send_buffer.h). The host sends them from there by MPI_Isend,
 * and the receiver's host copies them without the OS (pmpi_wrap/process_vm_entry.h). The send
 * buffer counts the bytes that were read, so the sender detects without an answer that the room is
 * free. Where the copy policy is COPY_POLICY_NONTEMPORAL, because ordinary stores into memory that
 * the receiver has read are slow, this gains nothing over Open MPI, and the host sends all
 * messages.
 *
 * With QUIRK_BSEND_COMPLETES_LATE all long messages go this way under every copy policy. In such a
 * host a long message leaves the program's buffer only when an acknowledgement arrives. The host's
 * barrier would deliver the acknowledgements, but ours does not: although 100 messages of 16 KB had
 * all been received before the barrier, a buffer with room for 100 refused some of the next ones,
 * and MPI_Buffer_detach waited until the receiver called MPI again. Tests: bsend_refill,
 * bsend_room_again, bsend_gone. Long messages use the send buffer even if MPIACCEL_BSEND is off,
 * and then count as deferred. If the shared heap is full, copies lie in private memory, and each is
 * freed when its acknowledgement arrives. If there is no room for a copy either, the message goes
 * into the program's buffer, so messages are seldom refused.
 *
 * With QUIRK_BSEND_WAITS messages go by MPI_Ibsend: see in_flight.h.
 *
 * The host reports wrong arguments, under the name of the call that the program made: this library
 * sends a message only if all its arguments are right.
 */
#ifndef MPIACCEL_MESSAGE_H
#define MPIACCEL_MESSAGE_H

#include "core/stats.h"
#include "pmpi_wrap/abi/datatypes/typemap_of.h"

#include <limits.h>

struct message {
    const void *data;
    MPI_Count count;
    MPI_Datatype type;
    int rank, tag;
    MPI_Comm comm;
    size_t bytes; /* of the data; UNKNOWN_BYTES if the datatype is not known */
};

#define UNKNOWN_BYTES (SIZE_MAX / 4) /* more than any message has; two of them do not overflow */

HOT_INLINE struct message message_of(const void *data, MPI_Count count, MPI_Datatype type, int rank,
                                     int tag, MPI_Comm comm)
{
    struct buffer b = {.map = typemap_of(type), .count = (size_t)count};
    size_t bytes;
    bool known = b.map && buffer_bytes(b, &bytes) && bytes < UNKNOWN_BYTES;
    return (struct message){data, count, type, rank, tag, comm, known ? bytes : UNKNOWN_BYTES};
}

/* The functions below that send a message require a count from 0 to INT_MAX. The caller passes
 * messages with other counts to the host, between message_make_room() and message_deferred(). */

/* Call before the host puts the message into the program's buffer. A host with
 * QUIRK_BSEND_REFUSES_EARLY must make progress first if the message may not fit: the host's own
 * barrier would have made progress, but the barrier of this library does not. */
void message_make_room(const struct message *m);

/* Count a message that the host has sent, and wake ranks that sleep, one of which may receive it.
 * Returns `result`, the host's result. */
int message_deferred(enum call call, const struct message *m, int result);

/* Perform MPI_Bsend. */
int message_send(enum call call, const struct message *m);

/* Perform MPI_Ibsend. */
int message_start(enum call call, const struct message *m, MPI_Request *request);

/* Send a buffered message without a request, and without waiting as MPI_Bsend may. */
int message_send_without_waiting(enum call call, const struct message *m);

/* ---- the buffer ---- */

/* Call after the host has attached or detached a buffer, with the host's result, which is
 * returned. */
int buffer_attached(enum call call, const void *buffer, MPI_Count size, int result);
int buffer_detached(enum call call, int result);

/* Let the host send all messages from now on. */
void buffer_leave_to_host(enum call call);

/* Deliver all messages, because the host need not wait for requests that the program has not
 * created. Call before the host is finalized, or in the last delete function of an attribute of
 * MPI_COMM_SELF. A buffer that a callback of the host attaches later is left to the host. */
void buffer_finish(void);

/* Call when the host is initialized again. */
void buffer_reopen(void);

#endif
