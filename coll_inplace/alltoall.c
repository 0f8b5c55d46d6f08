/* Alltoall: each rank posts a table with a parcel for every other one, and takes its own from
 * theirs. Long data stay where they are if the others can reach them and they are not to be
 * overwritten; else they go through streams, two ranks at a time: in step s ranks a and b with a +
 * b = s (mod n) exchange, so in place each piece comes in where one has gone out. */
#include "coll_inplace/parcel.h"

static enum coll_error take(struct team *t, uint32_t op, uint32_t peer, const struct post *post,
                            const struct blocks *from)
{
    bool equal = blocks_are_equal(from);
    struct parcel parcel = parcel_for(t, peer, op, post, t->rank, equal);
    return parcel_take(t, peer, op, post, parcel, equal, block_of(from, peer));
}

/* A rank that has nothing for anybody posts nothing, so nobody looks for what is not there. */
static bool comes_from(const struct blocks *from, uint32_t rank)
{
    return bytes_of(block_of(from, rank));
}

static enum coll_error exchange(struct team *t, uint32_t op, uint32_t peer, const struct blocks *to,
                                const struct blocks *from, bool we_stream, bool in_place)
{
    const struct post *post = comes_from(from, peer) ? team_hear(t, peer, op) : NULL;
    struct stream in = stream_none(t), out = stream_none(t);
    if (post && post_kind(post) == POST_PIECES) {
        struct parcel parcel = parcel_for(t, peer, op, post, t->rank, blocks_are_equal(from));
        in = parcel_stream(t, peer, parcel, block_of(from, peer));
    }
    if (we_stream)
        out = stream_out(t, block_of(to, peer), stream_start(t));
    enum coll_error error = stream_run(&out, &in, in_place && we_stream);
    if (post && post_kind(post) != POST_PIECES && in_place && we_stream)
        error |= take(t, op, peer, post, from);
    return error;
}

enum coll_error coll_alltoall(struct team *t, const struct blocks *to, const struct blocks *from,
                              bool in_place)
{
    enum coll_error error = COLL_OK;
    if (!in_place)
        error |= coll_copy(block_of(from, t->rank), block_of(to, t->rank), 2 * t->size * t->size);
    if (t->size == 1)
        return error;
    uint32_t op = team_begin(t);
    bool any = parcels_any(t, to);
    if (!any && blocks_are_equal(to) && blocks_are_equal(from)) {
        team_end(t);
        return error;
    }
    enum post_kind mine = POST_HERE;
    if (any)
        mine = parcels_post(t, op, to, in_place ? STAY_NEVER : STAY);
    bool bound = false, streams = mine == POST_PIECES, heard_all = true;
    for (uint32_t i = 1; i < t->size; i++) {
        uint32_t r = t->rank + i < t->size ? t->rank + i : t->rank + i - t->size;
        if (!comes_from(from, r)) {
            heard_all = false;
            continue;
        }
        const struct post *post = team_hear(t, r, op);
        bound |= post_kind(post) == POST_PLACE;
        streams |= post_kind(post) == POST_PIECES;
        if (post_kind(post) != POST_PIECES && !(in_place && mine == POST_PIECES))
            error |= take(t, op, r, post, from);
    }
    if (heard_all)
        team_all_did(t, op - 1);
    for (uint32_t s = 0; streams && s < t->size; s++) {
        uint32_t peer = parcel_partner(t, s);
        if (peer != t->rank)
            error |= exchange(t, op, peer, to, from, mine == POST_PIECES, in_place);
    }
    /* A rank whose data stay where they are waits for all others, whomever they are for. */
    team_end_bound(t, op, bound || !heard_all, mine == POST_PLACE);
    return error;
}
