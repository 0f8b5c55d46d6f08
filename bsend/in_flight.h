/* Buffered messages in flight: incomplete nonblocking sends of the host, and the copies from which
 * the host sends. MPI_Buffer_detach waits until all are delivered.
 *
 * A copy is in the send buffer (alloc/send_buffer.h), where this rank can see when the receiver has
 * read it, or in private memory. A message whose copy has been read is delivered: its room is free,
 * and no call waits for it any more. Its request stays in the list until the host also reports
 * completion. All copies together take at most as many bytes as the program has attached. Each
 * counts as the length of its message plus MPI_BSEND_OVERHEAD, wherever it is. So every message for
 * which the standard guarantees room (MPI-4.0, 3.6) finds room, and a buffer that is too small is
 * an error as with the host.
 *
 * Threads: a mutex protects the list. A thread that tests a request removes its message from the
 * list meanwhile, so no request is tested by two threads at once. The mutex is never held during a
 * call of the host, which may call the program back, nor during a wait.
 */
#ifndef MPIACCEL_IN_FLIGHT_H
#define MPIACCEL_IN_FLIGHT_H

#include "alloc/send_buffer.h"

struct in_flight {
    struct in_flight *next;
    uintptr_t request;
    size_t bytes; /* of the copy */
    size_t room;  /* bytes of the attached buffer that the copy occupies */
    char *copy;   /* NULL: the host has copied the data */
    struct send_block block;
    bool delivered; /* the copy has been read and freed */
    bool pending;   /* counted in in_flight_pending; see bsend/pending.h */
};

/* Tests a request of the host; frees it and returns true if it is complete. Must not wait. May
 * change the request. */
typedef bool in_flight_sent_fn(uintptr_t *request);

/* Provide room for copies of `room` bytes in total. `shared`: in the send buffer. */
void in_flight_open(size_t room, bool shared, in_flight_sent_fn *sent);

/* From now on there is no room. */
void in_flight_close(void);

/* Number of messages that are not delivered, and how many of them are pending. */
extern _Atomic uint32_t in_flight_count, in_flight_pending;

/* Allocate memory for a copy of `bytes` bytes, which takes `room` bytes of the buffer. The caller
 * fills it and calls the host to send it, then calls in_flight_add(), or in_flight_drop() if the
 * host has failed. NULL: no room. */
struct in_flight *in_flight_claim(size_t bytes, size_t room);
void in_flight_add(struct in_flight *f, uintptr_t request);
void in_flight_drop(struct in_flight *f);

/* Free copies and requests of complete messages. Stops after `most` tests that found a message
 * incomplete. */
void in_flight_look(uint32_t most);

/* Wait, while driving the host's progress, until no message is pending. */
void in_flight_wait_for_pending(void);
/* Wait, while driving the host's progress, until all messages are delivered. */
void in_flight_drain(void);
/* Wait, while driving the host's progress, until the host has completed all requests. */
void in_flight_finish(void);

#endif
