/* Buffered messages in flight: incomplete nonblocking sends of the host, and the copies from which
 * the host sends. MPI_Buffer_detach waits until all are delivered.
 *
 * Copies. A copy is in the send buffer (alloc/send_buffer.h), where this rank can see when the
 * receiver has read it, or in private memory. A message whose copy has been read is delivered: its
 * room is free, and no call waits for it any more. Its request stays in the list until the host
 * also reports completion. All copies together take at most as many bytes as the program has
 * attached. Each counts as the length of its message plus MPI_BSEND_OVERHEAD, wherever it is. So
 * every message for which the standard guarantees room (MPI-4.0, 3.6) finds room, and a buffer that
 * is too small is an error as with the host.
 *
 * Pending messages. A buffered send completes locally (MPI-4.0, 3.4). MPI_Bsend of Open MPI
 * nevertheless waits when 19 to 512 messages are under way to a receiver that does not call MPI,
 * and so does MPI_Wait after its MPI_Ibsend (tests: bsend_asleep, bsend_many). With such a host
 * message.c sends a buffered message by the MPI_Ibsend of the host, which copies data that cannot
 * leave at once into the buffer of the program. Nearly always the request is complete then.
 * Otherwise the message is pending: its request goes into the list, and the program continues.
 *
 * The host, which waits, may have only one message at a time in the buffer, so a program may attach
 * a buffer for no more. Its messages must not be refused here for lack of room. How much room is
 * left in the buffer cannot be determined, because the host reports long messages as complete
 * before they have left it. So while messages are pending,
 *
 *   - another one is sent by MPI_Ibsend only if all messages begun since the buffer was last known
 *     to be empty would fit into it, one after another. After a long message the buffer is not
 *     known to be empty until one is attached again.
 *   - otherwise it is sent by MPI_Isend from a copy. Not all messages are sent like this, since
 *     Open MPI has at most 512 messages of more than about 250 bytes under way at a time, to all
 *     receivers together; after that its MPI_Send would wait for the receiver.
 *   - if there is no room for a copy either, MPI_Bsend waits until there is. MPI_Ibsend must not
 *     wait, so the host handles the call.
 *
 * A pending message leaves during a later MPI call of its sender. If the sender then computed for a
 * long time, a receiver that came only slightly late would wait all that time; under the host alone
 * it would not, since MPI_Bsend waits for it. MPI_Bsend therefore waits here too: for at most
 * MPIACCEL_BSEND_WAIT if no message is pending yet, and for at most a quarter of a millisecond for
 * later ones as long as messages leave.
 *
 * Threads: a mutex protects the list. A thread that tests a request removes its message from the
 * list meanwhile, so no request is tested by two threads at once. The mutex is never held during a
 * call of the host, which may call the program back, nor during a wait.
 */
#ifndef MPIACCEL_IN_FLIGHT_H
#define MPIACCEL_IN_FLIGHT_H

#include "alloc/send_buffer.h"
#include "pmpi_wrap/abi/host_api.h"

struct in_flight {
    struct in_flight *next;
    MPI_Request request;
    size_t bytes; /* of the copy */
    char *copy;   /* NULL: the host has copied the data */
    struct send_block block;
    bool delivered; /* the copy has been read and freed */
    bool pending;   /* counted in in_flight_pending */
};

/* What is attached, and how messages are sent meanwhile. */
struct in_flight_limits {
    _Atomic size_t room; /* bytes of the buffer of the program */
    size_t overhead;     /* bytes that a message takes besides its data */
    uint32_t copies;     /* with so many messages in flight, none is copied only to be faster */
    bool shared;         /* copies are in the send buffer */
    uint64_t wait_ns;    /* how long MPI_Bsend waits when no message is pending */
};

void in_flight_open(const struct in_flight_limits *limits);

/* Let no copy find room from now on. */
void in_flight_close(void);

/* Number of messages that are not delivered, and how many of them are pending. */
extern _Atomic uint32_t in_flight_count HIDDEN, in_flight_pending HIDDEN;

/* Why a message is sent out of a copy: because that is faster than out of the buffer of the
 * program, or because other messages are pending. With IN_FLIGHT_PENDING_MAY_WAIT,
 * in_flight_claim() waits for room, and in_flight_add() waits until the message has left, for as
 * long as MPI_Bsend may wait. */
enum in_flight_motive { IN_FLIGHT_FASTER, IN_FLIGHT_PENDING, IN_FLIGHT_PENDING_MAY_WAIT };

/* Allocate memory for a copy of `bytes` bytes. The caller fills it and calls the host to send it,
 * then calls in_flight_add(), or in_flight_drop() if the host has failed. NULL: no room, or too
 * many messages in flight. */
struct in_flight *in_flight_claim(size_t bytes, enum in_flight_motive motive);
void in_flight_add(struct in_flight *f, MPI_Request request, enum in_flight_motive motive);
void in_flight_drop(struct in_flight *f);

/* While messages are pending: does the buffer of the program certainly have room for `bytes` bytes
 * of data? If so, they are counted as used. */
bool in_flight_reserve(size_t bytes);

/* Keep the request of a message with `bytes` bytes of data that the host has begun to send out of
 * the buffer of the program, and has not completed at once. `reserved`: in_flight_reserve() has
 * counted the bytes. `may_wait`: the call may wait. Returns false if there is no memory, but never
 * if the call may wait; the caller then still owns the request. */
bool in_flight_keep(MPI_Request request, size_t bytes, bool reserved, bool may_wait);

/* Wait, while driving the host's progress: in_flight_wait_for_pending() until no message is
 * pending, in_flight_drain() until all messages are delivered, in_flight_finish() until the host
 * has completed all requests. */
void in_flight_wait_for_pending(void);
void in_flight_drain(void);
void in_flight_finish(void);

#endif
