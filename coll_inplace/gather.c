/* Gather and scatter, with and without counts of their own for each rank.
 *
 * Gather: each rank posts its data, and leaves; the root takes them. Long data of a rank stay where
 * they are, and the rank, until the root has them, or go through its stream. How a rank's data come
 * is its own affair, in its post.
 *
 * Scatter: the root posts a table that says where each rank's data are: behind the table, where
 * they lie, or in a stream, one rank after another (parcel.h).
 * Small blocks never keep the root, however many there are (H15).
 */
#include "coll_inplace/joint.h"
#include "coll_inplace/parcel.h"

/* ---- gather ---- */

static void send_to_root(struct team *t, uint32_t op, struct buffer mine, uint32_t root)
{
    if (!bytes_of(mine))
        return;
    enum post_kind kind = team_post_data(t, op, mine, STAY_LONG, stream_start(t));
    if (kind == POST_PLACE && joint_post_pays(post_of(t->mine, op)))
        joint_give(t, &t->mine->joint, op, root, mine);
    if (kind == POST_PLACE)
        sync_await(&t->row[root]->done, op);
    else if (kind == POST_PIECES)
        stream_give(t, mine);
}

/* Where long data have been posted already, so that their ranks copy while we do something else. */
static void open_joints(struct team *t, uint32_t op, const struct blocks *all)
{
    for (uint32_t r = 0; r < t->size; r++) {
        struct post *post = post_of(t->row[r], op);
        if (r != t->rank && bytes_of(block_of(all, r)) && sync_load(&post->op) == op &&
            joint_post_pays(post))
            joint_open(t, &t->row[r]->joint, op, block_of(all, r), post_bytes(post));
    }
}

static enum coll_error take_from(struct team *t, uint32_t op, uint32_t rank, struct buffer to,
                                 bool *bound)
{
    const struct post *post = team_hear_stream(t, rank, op);
    size_t bytes = post_bytes(post);
    struct joint *joint = &t->row[rank]->joint;
    *bound |= post_kind(post) == POST_PLACE;
    if (joint_post_pays(post)) {
        if (sync_load(&joint->opened) != op)
            joint_open(t, joint, op, to, bytes);
        return joint_take(t, joint, op, rank, post_place(post), to, bytes);
    }
    if (post_kind(post) != POST_PIECES)
        return coll_take_post(t, rank, op, post, to);
    return stream_take(t, stream_in(t, rank, to, bytes, post_start(post)));
}

enum coll_error coll_gather(struct team *t, struct buffer mine, const struct blocks *all,
                            uint32_t root, bool in_place)
{
    enum coll_error error = COLL_OK;
    if (t->size == 1)
        return in_place ? COLL_OK : coll_copy(block_of(all, root), mine, 2 * t->size);
    uint32_t op = team_begin(t);
    if (t->rank != root) {
        send_to_root(t, op, mine, root);
        team_end(t);
        return COLL_OK;
    }
    bool bound = false;
    open_joints(t, op, all);
    if (!in_place)
        error |= coll_copy(block_of(all, root), mine, 2 * t->size);
    for (uint32_t r = 0; r < t->size; r++)
        if (r != root && bytes_of(block_of(all, r)))
            error |= take_from(t, op, r, block_of(all, r), &bound);
    if (bound)
        team_done(t, op);
    else
        team_end(t);
    return error;
}

/* ---- scatter ---- */

static void finish_leaves(struct team *t, uint32_t op, enum post_kind kind,
                          const struct blocks *all, bool equal)
{
    const struct post *post = post_of(t->mine, op);
    for (uint32_t r = 0; kind == POST_PLACE && r < t->size; r++) {
        struct parcel parcel = parcel_for(t, t->rank, op, post, r, equal);
        if (r != t->rank && joint_pays(parcel.where, parcel.bytes))
            joint_give(t, &t->row[r]->joint, op, r, block_of(all, r));
    }
    if (kind == POST_PLACE)
        team_await_all(t, op);
    for (uint32_t s = 0; kind == POST_PIECES && s < t->size; s++) {
        uint32_t r = parcel_partner(t, s);
        if (r != t->rank)
            stream_give(t, block_of(all, r));
    }
}

/* Whether a rank for which the root has nothing leaves the operation alone. With equal blocks the
 * root has nothing for anybody. With others, ranks of a tree hand on what is for those behind. */
static bool may_skip(const struct team *t, bool equal)
{
    return equal || t->size <= TREE_FLAT;
}

static enum coll_error take_from_root(struct team *t, uint32_t op, struct buffer mine,
                                      uint32_t root, bool equal)
{
    if (!bytes_of(mine) && may_skip(t, equal)) {
        team_done(t, op); /* the root may wait for it, for the sake of others */
        return COLL_OK;
    }
    const struct post *post = tree_hear(t, op, root);
    struct parcel parcel = parcel_for(t, root, op, post, t->rank, equal);
    enum coll_error error;
    if (post_kind(post) == POST_PIECES) {
        error = stream_take(t, parcel_stream(t, root, parcel, mine));
    } else if (post_kind(post) == POST_PLACE && joint_pays(parcel.where, parcel.bytes)) {
        joint_open(t, &t->mine->joint, op, mine, parcel.bytes);
        error = joint_take(t, &t->mine->joint, op, root, parcel.where, mine, parcel.bytes);
    } else {
        error = parcel_take(t, root, op, post, parcel, equal, mine);
    }
    if (post_kind(post) == POST_PLACE)
        team_done(t, op);
    else
        team_end(t);
    return error;
}

enum coll_error coll_scatter(struct team *t, const struct blocks *all, struct buffer mine,
                             uint32_t root, bool in_place, bool equal)
{
    enum post_kind kind = POST_HERE;
    uint32_t op = 0;
    if (t->size > 1) {
        op = team_begin(t);
        if (t->rank != root)
            return take_from_root(t, op, mine, root, equal);
        if (parcels_any(t, all) || !may_skip(t, equal))
            kind = parcels_post(t, op, all, STAY_LONG);
    }
    enum coll_error error = in_place ? COLL_OK : coll_copy(mine, block_of(all, root), 2 * t->size);
    if (t->size > 1) {
        finish_leaves(t, op, kind, all, equal);
        team_end(t);
    }
    return error;
}
