/* Long data from one rank's memory into another's, copied by both at once: twice as fast as by one.
 *
 * One of the two is the root of the operation; the coop_copy is in the mailbox of the other.
 * Whoever has heard the other's slot knows both ends: it opens the coop_copy, that is, writes where
 * its own end is and publishes the number of the operation. From then on both claim chunks:
 * `claims` is that number and how many chunks are left, so who comes to one that is over claims
 * nothing. The opener leaves when `helped` says that the other has copied what it had claimed; if
 * nobody comes, it copies all itself.
 *
 * `helped` and `failed` are the helper's, all else the opener's. A successful claim keeps the
 * opener in this operation until `helped` is published.
 */
#ifndef MPIACCEL_JOINT_H
#define MPIACCEL_JOINT_H

#include "coll_inplace/coll.h"
#include "coll_inplace/thresholds.h"

/* Both sides ask, with what the sender has posted. */
static inline bool coop_copy_pays(remote_addr_t from, size_t bytes)
{
    return bytes >= (remote_addr_local(from) ? COOP_COPY_MIN_SHARED : COOP_COPY_MIN_PRIVATE);
}

static inline bool coop_copy_slot_pays(const struct slot *slot)
{
    return slot_kind(slot) == SLOT_REFERENCE &&
           coop_copy_pays(slot_address(slot), slot_bytes(slot));
}

/* The receiver opens it for `bytes` bytes of rank `peer`, and takes them; or takes them alone, if
 * the peer could not write to the buffer. */
void coop_copy_begin(const struct team *team, struct coop_copy *coop_copy, uint32_t op,
                     struct buffer to, size_t bytes);
enum coll_error coop_copy_receive(const struct team *team, struct coop_copy *coop_copy, uint32_t op,
                                  uint32_t peer, remote_addr_t from, struct buffer to,
                                  size_t bytes);

/* The sender helps, once it is open. */
void coop_copy_help(const struct team *team, struct coop_copy *coop_copy, uint32_t op,
                    uint32_t peer, struct buffer from);

#endif
