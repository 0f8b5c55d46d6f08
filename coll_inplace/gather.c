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
#include "coll_inplace/parcel.h"
#include "coll_inplace/stream.h"

static struct stream no_stream(struct team *t)
{
    return (struct stream){.row = t->mine};
}

/* ---- gather ---- */

static void send_to_root(struct team *t, uint32_t op, struct buffer mine, uint32_t root)
{
    uint32_t start = stream_start(t);
    enum post_kind kind = team_post_data(t, op, mine, STAY_LONG, start);
    if (kind == POST_PLACE) {
        sync_await(&t->row[root]->done, op);
    } else if (kind == POST_PIECES) {
        struct stream out = stream_out(t, mine, start), in = no_stream(t);
        stream_run(&out, &in, false);
    }
}

static enum coll_error take_from(struct team *t, uint32_t op, uint32_t rank, struct buffer to,
                                 bool *bound)
{
    const struct post *post = team_hear(t, rank, op);
    size_t bytes = post_bytes(post);
    *bound |= post_kind(post) == POST_PLACE;
    if (post_kind(post) != POST_PIECES)
        return coll_take_post(t, rank, op, post, to);
    uint32_t start;
    memcpy(&start, post->data, sizeof start);
    struct stream in = stream_in(t, rank, to, bytes, start), out = no_stream(t);
    return stream_run(&out, &in, false);
}

enum coll_error coll_gather(struct team *t, struct buffer mine, const struct blocks *all,
                            uint32_t root, bool in_place)
{
    enum coll_error error = COLL_OK;
    if (t->size == 1)
        return in_place ? COLL_OK : coll_copy(block_of(all, root), mine);
    uint32_t op = team_begin(t);
    if (t->rank != root) {
        send_to_root(t, op, mine, root);
        team_end(t);
        return COLL_OK;
    }
    bool bound = false;
    if (!in_place)
        error |= coll_copy(block_of(all, root), mine);
    for (uint32_t r = 0; r < t->size; r++)
        if (r != root)
            error |= take_from(t, op, r, block_of(all, r), &bound);
    if (bound)
        team_done(t, op);
    else
        team_end(t);
    return error;
}

/* ---- scatter ---- */

static void send_to_leaves(struct team *t, uint32_t op, const struct blocks *all)
{
    enum post_kind kind = parcels_post(t, op, all, STAY_LONG);
    if (kind == POST_PLACE)
        team_await_all(t, op);
    struct stream in = no_stream(t);
    for (uint32_t s = 0; kind == POST_PIECES && s < t->size; s++) {
        uint32_t r = parcel_partner(t, s);
        if (r != t->rank) {
            struct stream out = stream_out(t, block_of(all, r), stream_start(t));
            stream_run(&out, &in, false);
        }
    }
}

static enum coll_error take_from_root(struct team *t, uint32_t op, struct buffer mine,
                                      uint32_t root, bool equal)
{
    const struct post *post = tree_hear(t, op, root);
    enum coll_error error = COLL_OK;
    if (post_kind(post) == POST_PIECES) {
        struct parcel parcel = parcel_for(t, root, op, post, t->rank, equal);
        struct stream in = stream_in(t, root, mine, parcel.bytes, (uint32_t)parcel.where);
        struct stream out = no_stream(t);
        error = stream_run(&out, &in, false);
    } else {
        error = parcel_take(t, root, op, post, equal, mine);
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
    if (t->size > 1) {
        uint32_t op = team_begin(t);
        if (t->rank != root)
            return take_from_root(t, op, mine, root, equal);
        send_to_leaves(t, op, all);
        team_end(t);
    }
    return in_place ? COLL_OK : coll_copy(mine, block_of(all, root));
}
