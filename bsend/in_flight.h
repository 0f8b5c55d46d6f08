/* Buffered messages in flight: nonblocking sends of the host's that are not complete, and the
 * copies that they send. MPI_Buffer_detach waits until all are delivered.
 *
 * A copy lies in the send buffer (alloc/send_buffer.h), where we see when its receiver has read it,
 * or in private memory. When it has been read its room is free, and nobody waits for the message
 * any more, though its request stays here until the host has learned of it too. All copies together
 * take at most as many bytes as the program has attached; each takes the message's own length,
 * wherever it lies. So whatever the standard promises room (MPI-4.0, 3.6) has room.
 *
 * Threads: a lock protects the list. Whoever asks the host about a message takes it out of the list
 * meanwhile, so that none is asked about twice. No lock is held in a call of the host, which may
 * call the program back, nor in a wait.
 */
#ifndef MPIACCEL_IN_FLIGHT_H
#define MPIACCEL_IN_FLIGHT_H

#include "alloc/send_buffer.h"

struct in_flight {
    struct in_flight *next;
    uintptr_t request;
    size_t bytes; /* of its copy */
    char *copy;   /* NULL: the host has the data */
    struct send_block block;
    bool delivered; /* has been read: the copy is gone */
    bool pending;   /* counts as pending (bsend/pending.h) */
};

/* Is the request complete, and freed? Must not wait, and may change the request. */
typedef bool in_flight_sent_fn(uintptr_t *request);

/* There is room for copies of `room` bytes; in the send buffer if `shared`. */
void in_flight_open(size_t room, bool shared, in_flight_sent_fn *sent);

/* There is none from now on. */
void in_flight_close(void);

/* How many are not delivered, and how many of them are pending. */
extern _Atomic uint32_t in_flight_count, in_flight_pending;

/* Memory for a copy, which the caller fills and has the host send; then it calls in_flight_add(),
 * or, if the host has refused, in_flight_drop(). NULL: no room. */
struct in_flight *in_flight_claim(size_t bytes);
void in_flight_add(struct in_flight *f, uintptr_t request);
void in_flight_drop(struct in_flight *f);

/* Free what has been delivered, until the host has said of so many that they are not complete. */
void in_flight_look(uint32_t most);

/* Wait until none is pending; until all are delivered; and until the host knows it. With progress
 * of the host. */
void in_flight_wait_for_pending(void);
void in_flight_drain(void);
void in_flight_finish(void);

#endif
