/* Long messages, of a host that learns late that they have been received, and whose detaching would
 * wait until their receivers call it again (MPICH).
 *
 * A message is copied into the outbox (alloc/outbox.h), and the host sends the copy by MPI_Isend.
 * So we see when it has been taken: then its room is free, and nobody waits for it any more, though
 * its request stays here until the host has learned of it too. What finds no room there is the
 * host's, as is the first message on a communicator other than the world's: the host judges whether
 * there is one (peers.h).
 *
 * Threads: those that ask for a message take it out of the row (flights.h); no lock is held in a
 * call of the host, nor in a wait.
 */
#ifndef MPIACCEL_LATE_H
#define MPIACCEL_LATE_H

#include "alloc/outbox.h"
#include "bsend/flights.h"

struct late {
    struct flight flight;
    struct parcel parcel; /* nothing: it has been taken */
};

/* Has the host sent it? Must not wait, and may change the request. */
typedef bool late_sent_fn(uintptr_t *request);

/* A buffer of so many bytes has been attached. */
void late_open(size_t bytes, late_sent_fn *sent);

/* Nothing is claimed any more. */
void late_close(void);

/* Room for a copy in `parcel`, which the caller sends; then it says late_flies(), or, if that
 * failed, late_drop(). NULL: the host's. */
struct late *late_claim(size_t bytes);
void late_flies(struct late *late, uintptr_t request);
void late_drop(struct late *late);

/* What another has sent has been taken, and is waited for no more; its request ends here. False: no
 * memory to remember it. */
bool late_adopt(uintptr_t request);

/* Until all has been taken, or has left, with progress of the host. */
void late_drain(void);

/* And until the host knows. */
void late_finish(void);

#endif
