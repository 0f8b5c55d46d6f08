/* Buffered sends that are not complete, of a host whose MPI_Bsend waits until they are. Open MPI's
 * does when a receiver that is not in MPI has let some hundred messages pile up, though a buffered
 * send needs nobody else (MPI-4.0, 3.4).
 *
 * There a message is sent by the host's MPI_Ibsend, which copies into the program's buffer what
 * cannot leave at once. Nearly always it has left then. If not, we wait as the host would, but not
 * for ever; then its request is kept here, and the program goes on.
 *
 * Why wait at all, and the first time for long (MPIACCEL_BSEND_WAIT): a message that is kept leaves
 * in a later call of its sender's, so one that does not call MPI for a while, as it has no need to
 * under the host, would keep a receiver waiting that has only been late. And what lies in its
 * buffer costs the host up to 15 us a message when there are many. While some are kept, each of
 * those that follow waits a moment, of which that is a small part.
 *
 * Nothing may be refused for want of room that the host would have sent, with one message at a time
 * in the buffer. So one is kept only if all that have begun since the buffer was known to be empty
 * would fit, one behind the other. If it does not, the next message waits until none is kept, and
 * then the buffer is as it would be without us. The host calls long messages complete before they
 * have left it; so after one of those, and after the program's own MPI_Ibsend, it is not known to
 * be empty until it is attached again.
 *
 * Threads: a lock around the list; none is held in a call of the host, nor in a wait.
 */
#ifndef MPIACCEL_PENDING_H
#define MPIACCEL_PENDING_H

#include "core/base.h"

#include <stdatomic.h>

/* Is the request complete, and freed? Must not wait, and may change it. */
typedef bool pending_sent_fn(uintptr_t *request);

/* A buffer of `room` bytes has been attached. When none is kept, a message waits for `wait_ns`. */
void pending_open(size_t room, uint64_t wait_ns, pending_sent_fn *sent);

/* How many are kept. */
extern _Atomic uint32_t pending_count;

/* If any are: before the host gets a message that may take so many bytes of the buffer. False: none
 * is kept any longer, and nothing is reserved. */
bool pending_reserve(size_t bytes);

/* The host has begun a message that takes so many, and has not said that it left at once. */
void pending_add(uintptr_t request, size_t bytes, bool reserved);

/* The same of one that the program itself completes, for which nothing was reserved. */
void pending_by_host(size_t bytes);

/* Until none is kept, with progress of the host. */
void pending_drain(void);

#endif
