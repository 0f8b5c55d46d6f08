/* Guard against an MPI_Bsend of the host that waits for the receiver.
 *
 * A buffered send completes locally (MPI-4.0, 3.4). MPI_Bsend of Open MPI nevertheless waits when
 * some hundred messages are under way to a receiver that does not call MPI, and so does MPI_Wait
 * after its MPI_Ibsend (tests: bsend_asleep, bsend_many). With such a host we send a buffered
 * message by the MPI_Ibsend of the host, which copies data that cannot leave at once into the
 * buffer of the program. Nearly always the request is complete then. Otherwise the message is
 * pending: its request goes to bsend/in_flight.h, and the program continues.
 *
 * Room. A message must not be refused for lack of room if the host would have sent it with only one
 * message at a time in the buffer. We cannot determine how much room is left in the buffer, because
 * the host reports long messages as complete before they have left it. So while messages are
 * pending,
 *
 *   - another one is sent by MPI_Ibsend only if all messages begun since the buffer was last known
 *     to be empty would fit into it, one after another. After a long message the buffer is not
 *     known to be empty until one is attached again.
 *   - otherwise it is sent by MPI_Isend from a copy of ours. Not all messages are sent like this,
 *     since Open MPI has at most 512 messages of more than about 250 bytes under way at a time, to
 *     all receivers together; after that its MPI_Send would wait for the receiver.
 *   - if there is no room for a copy either, MPI_Bsend waits until there is. MPI_Ibsend must not
 *     wait, so the host handles the call.
 *
 * Waiting. A pending message leaves during a later MPI call of its sender. A sender that computes
 * for a long time, as it may under the host, would keep a receiver waiting that was only a little
 * late. MPI_Bsend therefore waits for MPIACCEL_BSEND_WAIT if no message is pending yet, and a
 * quarter of a millisecond for later ones as long as messages leave.
 */
#ifndef MPIACCEL_PENDING_H
#define MPIACCEL_PENDING_H

#include "bsend/in_flight.h"

/* A buffer of `room` bytes has been attached. MPI_Bsend waits `wait_ns` when no message is pending.
 */
void pending_open(size_t room, uint64_t wait_ns, in_flight_sent_fn *sent);

/* While messages are pending: does the buffer certainly have room for `bytes` bytes? If so, they
 * are counted as used. */
bool pending_reserve(size_t bytes);

/* The host has begun a message that takes `bytes` bytes of the buffer, and has not completed it at
 * once. `reserved`: pending_reserve() has counted the bytes. `may_wait`: the call may wait. False:
 * out of memory, and the caller still owns the request; never if the call may wait. */
bool pending_add(uintptr_t request, size_t bytes, bool reserved, bool may_wait);

/* in_flight_claim() while messages are pending. Waits for room if `may_wait`. */
struct in_flight *pending_claim(size_t bytes, size_t room, bool may_wait);
void pending_add_copy(struct in_flight *copy, uintptr_t request, bool may_wait);

#endif
