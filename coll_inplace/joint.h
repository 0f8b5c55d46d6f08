/* Long data from one rank's memory into another's, copied by both at once: twice as fast as by one.
 *
 * One of the two is the root of the operation; the joint is in the row of the other. Whoever has
 * heard the other's post knows both ends: it opens the joint, that is, writes where its own end is
 * and publishes the number of the operation. From then on both claim chunks: `claims` is that
 * number and how many chunks are left, so who comes to one that is over claims nothing. The opener
 * leaves when `helped` says that the other has copied what it had claimed; if nobody comes, it
 * copies all itself.
 *
 * `helped` and `failed` are the helper's, all else the opener's. A successful claim keeps the
 * opener in this operation until `helped` is published.
 */
#ifndef MPIACCEL_JOINT_H
#define MPIACCEL_JOINT_H

#include "coll_inplace/choose.h"
#include "coll_inplace/coll.h"

/* Both sides ask, with what the sender has posted. */
static inline bool joint_pays(place_t from, size_t bytes)
{
    return bytes >= (place_shared(from) ? CHOOSE_JOINT_SHARED : CHOOSE_JOINT_PRIVATE);
}

static inline bool joint_post_pays(const struct post *post)
{
    return post_kind(post) == POST_PLACE && joint_pays(post_place(post), post_bytes(post));
}

/* The receiver opens it for `bytes` bytes of rank `peer`, and takes them; or takes them alone, if
 * the peer could not write to the buffer. */
void joint_open(const struct team *team, struct joint *joint, uint32_t op, struct buffer to,
                size_t bytes);
enum coll_error joint_take(const struct team *team, struct joint *joint, uint32_t op, uint32_t peer,
                           place_t from, struct buffer to, size_t bytes);

/* The sender helps, once it is open. */
void joint_give(const struct team *team, struct joint *joint, uint32_t op, uint32_t peer,
                struct buffer from);

#endif
