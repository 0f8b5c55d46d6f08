/* Guard against a host whose MPI_Bsend waits for the receiver: Open MPI's does when a receiver that
 * is not in MPI has let some hundred messages pile up, though a buffered send completes locally
 * (MPI-4.0, 3.4). So does MPI_Wait after its MPI_Ibsend. Tests: bsend_asleep, bsend_many.
 *
 * There a message is sent by the host's MPI_Ibsend, which copies into the program's buffer what
 * cannot leave at once. Nearly always it is complete then. If not, its request goes to
 * bsend/in_flight.h, and the program goes on: MPI_Bsend after it has waited as the host would, but
 * not for ever.
 *
 * Nothing may be refused for want of room that the host would have sent, with one message at a time
 * in the buffer. How much room there is in it we cannot know: the host calls long messages complete
 * before they have left it. So while some are pending a message goes the same way only if all that
 * have begun since the buffer was known to be empty would fit, one behind the other; after a long
 * one it is not known to be empty until it is attached again. What may not fit is sent by MPI_Isend
 * out of a copy of ours. Not all is sent so, as from some 250 bytes on the host has only 512 of
 * such messages under way, to whomever: then its MPI_Send waits for the sleeper. What finds no room
 * for a copy either waits until it does; MPI_Ibsend must not wait, and the host answers.
 *
 * Why wait at all, and for the first one long (MPIACCEL_BSEND_WAIT): a pending message leaves in a
 * later call of its sender's, so a sender that does not call MPI for a while, as it has no need to
 * under the host, would keep a receiver waiting that has only been late.
 */
#ifndef MPIACCEL_PENDING_H
#define MPIACCEL_PENDING_H

#include "bsend/in_flight.h"

/* A buffer of `room` bytes has been attached. When none is pending, MPI_Bsend waits `wait_ns`. */
void pending_open(size_t room, uint64_t wait_ns, in_flight_sent_fn *sent);

/* If any are pending: has the buffer surely room for so many bytes? Then they are counted. */
bool pending_reserve(size_t bytes);

/* The host has begun a message that takes so many bytes of the buffer, and has not completed it at
 * once. `may_wait`: so may the call. False: there was no memory to remember it, and the caller has
 * the request still; never if it may wait. */
bool pending_add(uintptr_t request, size_t bytes, bool reserved, bool may_wait);

/* Like in_flight_claim(), while any are pending; waits for room if it may. */
struct in_flight *pending_claim(size_t bytes, bool may_wait);
void pending_add_copy(struct in_flight *copy, uintptr_t request, bool may_wait);

#endif
