/* MPI_Alltoall: each rank publishes a block for every other rank (block_desc.h) and reads its own
 * block from every other rank's slot.
 *
 * Long blocks are read by reference if the other ranks can access them and they are not overwritten
 * (in place). Otherwise they go through streams, between two partners at a time. In place, each
 * piece is received only after the piece at the same position was sent. */
#include "coll_inplace/block_desc.h"

static enum coll_error receive_block(struct team *t, uint32_t op, uint32_t rank,
                                     const struct slot *slot, const struct blocks *from)
{
    bool equal = blocks_are_equal(from);
    struct block_desc desc = block_desc_for_us(t, rank, op, slot, equal);
    return block_receive(t, rank, op, slot, desc, equal, block_of(from, rank));
}

/* A rank without data for any other rank publishes nothing, so its slot must not be waited for. */
static bool sends_to_us(const struct blocks *from, uint32_t rank)
{
    return bytes_of(block_of(from, rank));
}

static enum coll_error exchange_with(struct team *t, uint32_t op, uint32_t partner,
                                     const struct blocks *to, const struct blocks *from,
                                     bool we_stream, bool in_place)
{
    const struct slot *slot = sends_to_us(from, partner) ? team_wait(t, partner, op) : NULL;
    struct stream in = stream_none(t), out = stream_none(t);
    if (slot && slot_kind(slot) == SLOT_PIPELINED) {
        struct block_desc desc = block_desc_for_us(t, partner, op, slot, blocks_are_equal(from));
        in = block_stream(t, partner, desc, block_of(from, partner));
    }
    if (we_stream)
        out = stream_out(t, block_of(to, partner), team_stream_start(t));
    enum coll_error error = stream_run(&out, &in, in_place && we_stream);
    if (slot && slot_kind(slot) != SLOT_PIPELINED && in_place && we_stream)
        error |= receive_block(t, op, partner, slot, from);
    return error;
}

enum coll_error coll_alltoall(struct team *t, const struct blocks *to, const struct blocks *from,
                              bool in_place)
{
    bool inter = team_is_inter(t);
    enum coll_error error = COLL_OK;
    if (!in_place && !inter)
        error |= copy_own(block_of(from, t->self), block_of(to, t->self), 2 * t->size * t->size);
    if (t->alone)
        return error;
    uint32_t op = team_begin(t);
    bool any = blocks_any_remote(t, to);
    if (!any && !inter && blocks_are_equal(to) && blocks_are_equal(from)) {
        team_end(t);
        return error;
    }
    enum slot_kind kind = SLOT_INLINE;
    if (any)
        kind = blocks_publish(t, op, to, in_place ? BY_REFERENCE_NEVER : BY_REFERENCE);
    bool reads = false, streams = kind == SLOT_PIPELINED, waited_for_all = true;
    uint32_t first = inter ? t->first_partner : t->self + 1;
    for (uint32_t i = 0; i < t->peers; i++) {
        uint32_t r = first + i < t->size ? first + i : first + i - t->size;
        if (!sends_to_us(from, r)) {
            waited_for_all = false;
            continue;
        }
        const struct slot *slot = team_wait(t, r, op);
        reads |= slot_kind(slot) == SLOT_REFERENCE;
        streams |= slot_kind(slot) == SLOT_PIPELINED;
        if (slot_kind(slot) != SLOT_PIPELINED && !(in_place && kind == SLOT_PIPELINED))
            error |= receive_block(t, op, r, slot, from);
    }
    if (waited_for_all)
        team_note_all_done(t, op - 1);
    for (uint32_t i = 0; streams && i < t->size; i++) {
        uint32_t partner = team_partner(t, i);
        if (partner != t->self)
            error |= exchange_with(t, op, partner, to, from, kind == SLOT_PIPELINED, in_place);
    }
    /* A rank that sends by reference waits for `done`. In a wrong program, this may also be a rank
     * from which no data are expected. */
    if (reads || !waited_for_all)
        team_done(t, op);
    if (kind == SLOT_REFERENCE)
        blocks_await_readers(t, op, to);
    team_end(t);
    return error;
}
