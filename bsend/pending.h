/* Buffered sends that are not complete, of a host whose MPI_Bsend waits until they are. Open MPI's
 * does when a receiver that is not in MPI has let some hundred messages pile up, though a buffered
 * send needs nobody else (MPI-4.0, 3.4). So does MPI_Wait after its MPI_Ibsend.
 *
 * There a message is sent by the host's MPI_Ibsend, which copies into the program's buffer what
 * cannot leave at once. Nearly always it has left then. If not, its request is kept here, and the
 * program goes on: MPI_Bsend after it has waited as the host would, but not for ever.
 *
 * Nothing may be refused for want of room that the host would have sent, with one message at a time
 * in the buffer. What room there is in it we cannot know: the host calls long messages complete
 * before they have left it. So while some are kept a message goes the same way only if all that
 * have begun since the buffer was known to be empty would fit, one behind the other; after a long
 * one it is not known to be empty until it is attached again.
 *
 * What does not fit so is copied by us, and sent by MPI_Isend. For that there is as much room again
 * as the buffer has. A copy takes its own length of it, wherever it lies, until it has left; so
 * whatever the standard promises room has room. What has none waits until it has, as it would under
 * the host, whose MPI_Bsend sends any number of messages through a buffer for one; MPI_Ibsend must
 * not wait, and the host answers. Not all are sent so, as from some 250 bytes on the host has only
 * 512 of such messages at a time under way, to whomever: then its MPI_Send waits for the sleeper.
 *
 * Why wait at all, and the first time for long (MPIACCEL_BSEND_WAIT): a message that is kept leaves
 * in a later call of its sender's, so one that does not call MPI for a while, as it has no need to
 * under the host, would keep a receiver waiting that has only been late.
 *
 * Threads: a lock around the list; none is held in a call of the host, nor in a wait.
 */
#ifndef MPIACCEL_PENDING_H
#define MPIACCEL_PENDING_H

#include "bsend/flights.h"

#include <stdatomic.h>

/* Is the request complete, and freed? Must not wait, and may change it. */
typedef bool pending_sent_fn(uintptr_t *request);

/* A buffer of `room` bytes has been attached. When none is kept, MPI_Bsend waits for `wait_ns`. */
void pending_open(size_t room, uint64_t wait_ns, pending_sent_fn *sent);

/* How many are kept. */
extern _Atomic uint32_t pending_count;

/* If any are: has the buffer room for so many bytes for sure? Then they are counted. */
bool pending_reserve(size_t bytes);

/* The host has begun a message that takes so many, and has not said that it left at once.
 * `may_wait`: its call is one that may. False: it could not be kept, and the caller has the request
 * still; never if it may wait. */
bool pending_add(uintptr_t request, size_t bytes, bool reserved, bool may_wait);

/* If any are kept, and for this there may be no room: a place for a copy, which the caller sends;
 * then it says pending_flies(), or, if that failed, pending_drop(). NULL: the host's. */
struct flight *pending_claim(size_t bytes, bool may_wait);
void pending_flies(struct flight *copy, uintptr_t request, bool may_wait);
void pending_drop(struct flight *copy);

/* Until none is kept, with progress of the host. */
void pending_drain(void);

#endif
