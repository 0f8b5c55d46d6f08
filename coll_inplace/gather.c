/* Gather and scatter, with and without counts of their own for each rank.
 *
 * Gather: each rank posts its data, and leaves; the root takes them. Long data of a rank
 * by_reference where they are, and the rank, until the root has them, or go through its stream. How
 * a rank's data come is its own affair, in its slot.
 *
 * Scatter: the root posts a table that says where each rank's data are: behind the table, where
 * they lie, or in a stream, one rank after another (block_desc.h).
 * Small blocks never keep the root, however many there are (H15).
 */
#include "coll_inplace/block_desc.h"
#include "coll_inplace/coop_copy.h"

/* ---- gather ---- */

static void send_to_root(struct team *t, uint32_t op, struct buffer mine, uint32_t root)
{
    if (!bytes_of(mine))
        return;
    enum slot_kind kind = team_publish_data(t, op, mine, BY_REFERENCE_LONG, stream_start(t));
    if (kind == SLOT_REFERENCE && coop_copy_slot_pays(slot_of(t->mine, op)))
        coop_copy_help(t, &t->mine->coop_copy, op, root, mine);
    if (kind == SLOT_REFERENCE)
        sync_wait_until(&t->mailbox[root]->done, op);
    else if (kind == SLOT_PIPELINED)
        stream_give(t, mine);
}

/* Where long data have been posted already, so that their ranks copy while we do something else. */
static void open_joints(struct team *t, uint32_t op, const struct blocks *all)
{
    for (uint32_t r = 0; r < t->size; r++) {
        struct slot *slot = slot_of(t->mailbox[r], op);
        if (r != t->rank && bytes_of(block_of(all, r)) && sync_load(&slot->op) == op &&
            coop_copy_slot_pays(slot))
            coop_copy_begin(t, &t->mailbox[r]->coop_copy, op, block_of(all, r), slot_bytes(slot));
    }
}

static enum coll_error take_from(struct team *t, uint32_t op, uint32_t rank, struct buffer to,
                                 bool *bound)
{
    const struct slot *slot = team_wait_stream(t, rank, op);
    size_t bytes = slot_bytes(slot);
    struct coop_copy *coop_copy = &t->mailbox[rank]->coop_copy;
    *bound |= slot_kind(slot) == SLOT_REFERENCE;
    if (coop_copy_slot_pays(slot)) {
        if (sync_load(&coop_copy->opened) != op)
            coop_copy_begin(t, coop_copy, op, to, bytes);
        return coop_copy_receive(t, coop_copy, op, rank, slot_address(slot), to, bytes);
    }
    if (slot_kind(slot) != SLOT_PIPELINED)
        return coll_take_post(t, rank, op, slot, to);
    return stream_take(t, stream_in(t, rank, to, bytes, slot_stream_start(slot)));
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

static void finish_leaves(struct team *t, uint32_t op, enum slot_kind kind,
                          const struct blocks *all, bool equal)
{
    const struct slot *slot = slot_of(t->mine, op);
    for (uint32_t r = 0; kind == SLOT_REFERENCE && r < t->size; r++) {
        struct block_desc block_desc = block_desc_for(t, t->rank, op, slot, r, equal);
        if (r != t->rank && coop_copy_pays(block_desc.where, block_desc.bytes))
            coop_copy_help(t, &t->mailbox[r]->coop_copy, op, r, block_of(all, r));
    }
    if (kind == SLOT_REFERENCE)
        team_wait_all(t, op);
    for (uint32_t s = 0; kind == SLOT_PIPELINED && s < t->size; s++) {
        uint32_t r = exchange_partner(t, s);
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
    const struct slot *slot = tree_hear(t, op, root);
    struct block_desc block_desc = block_desc_for(t, root, op, slot, t->rank, equal);
    enum coll_error error;
    if (slot_kind(slot) == SLOT_PIPELINED) {
        error = stream_take(t, block_stream(t, root, block_desc, mine));
    } else if (slot_kind(slot) == SLOT_REFERENCE &&
               coop_copy_pays(block_desc.where, block_desc.bytes)) {
        coop_copy_begin(t, &t->mine->coop_copy, op, mine, block_desc.bytes);
        error = coop_copy_receive(t, &t->mine->coop_copy, op, root, block_desc.where, mine,
                                  block_desc.bytes);
    } else {
        error = block_receive(t, root, op, slot, block_desc, equal, mine);
    }
    if (slot_kind(slot) == SLOT_REFERENCE)
        team_done(t, op);
    else
        team_end(t);
    return error;
}

enum coll_error coll_scatter(struct team *t, const struct blocks *all, struct buffer mine,
                             uint32_t root, bool in_place, bool equal)
{
    enum slot_kind kind = SLOT_INLINE;
    uint32_t op = 0;
    if (t->size > 1) {
        op = team_begin(t);
        if (t->rank != root)
            return take_from_root(t, op, mine, root, equal);
        if (blocks_any_remote(t, all) || !may_skip(t, equal))
            kind = blocks_publish(t, op, all, BY_REFERENCE_LONG);
    }
    enum coll_error error = in_place ? COLL_OK : coll_copy(mine, block_of(all, root), 2 * t->size);
    if (t->size > 1) {
        finish_leaves(t, op, kind, all, equal);
        team_end(t);
    }
    return error;
}
