/* Alltoall: each rank posts a table with a block_desc for every other one, and takes its own from
 * theirs. Long data by_reference where they are if the others can reach them and they are not to be
 * overwritten; else they go through streams, two ranks at a time: in step s ranks a and b with a +
 * b = s (mod n) exchange, so in place each piece comes in where one has gone out. */
#include "coll_inplace/block_desc.h"

static enum coll_error take(struct team *t, uint32_t op, uint32_t peer, const struct slot *slot,
                            const struct blocks *from)
{
    bool equal = blocks_are_equal(from);
    struct block_desc block_desc = block_desc_for(t, peer, op, slot, t->rank, equal);
    return block_receive(t, peer, op, slot, block_desc, equal, block_of(from, peer));
}

/* A rank that has nothing for anybody posts nothing, so nobody looks for what is not there. */
static bool comes_from(const struct blocks *from, uint32_t rank)
{
    return bytes_of(block_of(from, rank));
}

static enum coll_error exchange(struct team *t, uint32_t op, uint32_t peer, const struct blocks *to,
                                const struct blocks *from, bool we_stream, bool in_place)
{
    const struct slot *slot = comes_from(from, peer) ? team_wait(t, peer, op) : NULL;
    struct stream in = stream_none(t), out = stream_none(t);
    if (slot && slot_kind(slot) == SLOT_PIPELINED) {
        struct block_desc block_desc =
            block_desc_for(t, peer, op, slot, t->rank, blocks_are_equal(from));
        in = block_stream(t, peer, block_desc, block_of(from, peer));
    }
    if (we_stream)
        out = stream_out(t, block_of(to, peer), stream_start(t));
    enum coll_error error = stream_run(&out, &in, in_place && we_stream);
    if (slot && slot_kind(slot) != SLOT_PIPELINED && in_place && we_stream)
        error |= take(t, op, peer, slot, from);
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
    bool any = blocks_any_remote(t, to);
    if (!any && blocks_are_equal(to) && blocks_are_equal(from)) {
        team_end(t);
        return error;
    }
    enum slot_kind mine = SLOT_INLINE;
    if (any)
        mine = blocks_publish(t, op, to, in_place ? BY_REFERENCE_NEVER : BY_REFERENCE);
    bool bound = false, streams = mine == SLOT_PIPELINED, heard_all = true;
    for (uint32_t i = 1; i < t->size; i++) {
        uint32_t r = t->rank + i < t->size ? t->rank + i : t->rank + i - t->size;
        if (!comes_from(from, r)) {
            heard_all = false;
            continue;
        }
        const struct slot *slot = team_wait(t, r, op);
        bound |= slot_kind(slot) == SLOT_REFERENCE;
        streams |= slot_kind(slot) == SLOT_PIPELINED;
        if (slot_kind(slot) != SLOT_PIPELINED && !(in_place && mine == SLOT_PIPELINED))
            error |= take(t, op, r, slot, from);
    }
    if (heard_all)
        team_note_all_done(t, op - 1);
    for (uint32_t s = 0; streams && s < t->size; s++) {
        uint32_t peer = exchange_partner(t, s);
        if (peer != t->rank)
            error |= exchange(t, op, peer, to, from, mine == SLOT_PIPELINED, in_place);
    }
    /* A rank whose data by_reference where they are waits for all others, whomever they are for. */
    team_end_by_reference(t, op, bound || !heard_all, mine == SLOT_REFERENCE);
    return error;
}
