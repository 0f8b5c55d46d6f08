/* Cooperative copy: both the sender and the receiver copy a long message from one memory into the
 * other. Two processors copy twice as fast as one, and the sender would only wait otherwise.
 *
 * One of the two ranks is the root of the operation; the state is in the mailbox of the other. The
 * receiver has read the sender's slot, so it has both addresses. It begins the copy: it writes the
 * address of its buffer and publishes the number of the operation. From then on both claim chunks
 * and copy them. `claims` holds the number of the operation and the number of chunks left, so a
 * rank that comes late, when the operation is over, claims nothing. The receiver leaves when
 * `helped` shows that the sender has copied the chunks that it claimed. If the sender never comes,
 * the receiver copies everything itself.
 *
 * The sender writes `helped`, the receiver all other fields; both update `claims`. After a
 * successful claim by the sender, the receiver stays in this operation until `helped` is published.
 */
#ifndef MPIACCEL_COOP_COPY_H
#define MPIACCEL_COOP_COPY_H

#include "coll_inplace/receive.h"

/* Whether the data of a slot are copied cooperatively. */
static inline bool coop_copy_slot_pays(const struct slot *slot)
{
    return slot_kind(slot) == SLOT_REFERENCE &&
           transport_is_cooperative(slot_address(slot), slot_bytes(slot));
}

/* Call both on the receiver: begin, and then copy until all data of rank `peer` have arrived. If
 * peers cannot write to the buffer, the receiver copies alone. */
void coop_copy_begin(const struct team *team, struct coop_copy *coop_copy, uint32_t op,
                     struct buffer to, size_t bytes);
enum coll_error coop_copy_receive(struct team *team, struct coop_copy *coop_copy, uint32_t op,
                                  uint32_t peer, remote_addr_t from, struct buffer to,
                                  size_t bytes);

/* Receive the data of a slot that is not SLOT_PIPELINED, cooperatively if that pays; begin first if
 * that has not been done. */
static inline enum coll_error receive_rooted(struct team *team, struct coop_copy *coop_copy,
                                             uint32_t op, uint32_t peer, const struct slot *slot,
                                             struct buffer to)
{
    if (!coop_copy_slot_pays(slot))
        return receive_slot(team, peer, op, slot, to);
    if (sync_load(&coop_copy->opened) != op)
        coop_copy_begin(team, coop_copy, op, to, slot_bytes(slot));
    return coop_copy_receive(team, coop_copy, op, peer, slot_address(slot), to, slot_bytes(slot));
}

/* Call on the sender: wait until the receiver, rank `peer`, has begun, and help. */
void coop_copy_help(const struct team *team, struct coop_copy *coop_copy, uint32_t op,
                    uint32_t peer, struct buffer from);

#endif
