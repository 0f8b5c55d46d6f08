/* MPI_Gather, MPI_Gatherv, MPI_Scatter and MPI_Scatterv.
 *
 * Gather: each rank sends its data in its slot and returns; the root receives them. A rank with
 * long data waits until the root has read them by reference, or sends them through its stream. Each
 * rank chooses how to send and publishes the choice in its slot.
 *
 * Scatter: the root publishes where the data of each rank are (block_desc.h). Blocks of up to
 * EAGER_MAX bytes do not make the root wait, as long as all of them together take at most HOLD_MAX
 * bytes and there is memory for a copy (H15: under the host, such calls do not synchronise).
 *
 * Long data are copied by both sides (coop_copy.h).
 */
#include "coll_inplace/block_desc.h"
#include "coll_inplace/coop_copy.h"

/* ---- gather ---- */

static void send_to_root(struct team *t, uint32_t op, struct buffer mine, uint32_t root)
{
    if (!bytes_of(mine))
        return;
    enum slot_kind kind = team_publish_data(t, op, mine, BY_REFERENCE_LONG);
    if (kind == SLOT_REFERENCE && coop_copy_slot_pays(slot_of(t->own_ring, op)))
        coop_copy_help(t, &t->mine->coop_copy, op, root, mine);
    if (kind == SLOT_REFERENCE)
        team_await_reader(t, root, op);
    else if (kind == SLOT_PIPELINED)
        stream_send(t, mine);
}

/* Begin the cooperative copies of ranks that have already entered the call, so that they copy while
 * the root receives other data. */
static void begin_coop_copies(struct team *t, uint32_t op, const struct blocks *all)
{
    for (uint32_t r = 0; r < t->size; r++) {
        struct slot *slot = slot_of(t->ring[r], op);
        if (r != t->self && bytes_of(block_of(all, r)) && sync_load(&slot->op) == op &&
            coop_copy_slot_pays(slot))
            coop_copy_begin(t, &t->mailbox[r]->coop_copy, op, block_of(all, r), slot_bytes(slot));
    }
}

static enum coll_error receive_from(struct team *t, uint32_t op, uint32_t rank, struct buffer to,
                                    bool *by_reference)
{
    const struct slot *slot = team_wait_ahead(t, rank, op);
    *by_reference |= slot_kind(slot) == SLOT_REFERENCE;
    if (slot_kind(slot) != SLOT_PIPELINED)
        return receive_rooted(t, &t->mailbox[rank]->coop_copy, op, rank, slot, to);
    return stream_receive(t, stream_in(t, rank, to, slot_bytes(slot), slot_stream_start(slot)));
}

enum coll_error coll_gather(struct team *t, struct buffer mine, const struct blocks *all,
                            uint32_t root, bool in_place)
{
    enum coll_error error = COLL_OK;
    if (t->alone)
        return in_place ? COLL_OK : copy_own(block_of(all, root), mine, 2 * t->size);
    uint32_t op = team_begin(t);
    if (t->self != root) {
        send_to_root(t, op, mine, root);
        team_end(t);
        return COLL_OK;
    }
    bool by_reference = false;
    begin_coop_copies(t, op, all);
    if (!in_place && !team_is_inter(t))
        error |= copy_own(block_of(all, root), mine, 2 * t->size);
    for (uint32_t r = 0; r < t->size; r++)
        if (r != root && bytes_of(block_of(all, r)))
            error |= receive_from(t, op, r, block_of(all, r), &by_reference);
    team_end_by_reference(t, op, by_reference, false);
    return error;
}

/* ---- scatter ---- */

static void finish_receivers(struct team *t, uint32_t op, enum slot_kind kind,
                             const struct blocks *all, bool equal)
{
    for (uint32_t r = 0; kind == SLOT_REFERENCE && r < t->size; r++) {
        struct block_desc desc = block_desc_sent(t, op, r, equal);
        if (r != t->self && transport_is_cooperative(desc.where, desc.bytes))
            coop_copy_help(t, &t->mailbox[r]->coop_copy, op, r, block_of(all, r));
    }
    if (kind == SLOT_REFERENCE)
        blocks_await_readers(t, op, all);
    for (uint32_t i = 0; kind == SLOT_PIPELINED && i < t->size; i++) {
        uint32_t r = team_partner(t, i);
        if (r != t->self)
            stream_send(t, block_of(all, r));
    }
}

/* Whether a rank for which the root has no data may ignore the root's slot. If blocks are equal,
 * the root has no data for any rank and publishes nothing. Otherwise inner ranks of a tree pass on
 * the slot of the root. */
static bool may_skip(const struct team *t, bool equal)
{
    return equal || t->flat;
}

static enum coll_error receive_from_root(struct team *t, uint32_t op, struct buffer mine,
                                         uint32_t root, bool equal)
{
    if (!bytes_of(mine) && may_skip(t, equal)) {
        team_done(t, op); /* in a wrong program the root may have data for this rank, and wait */
        return COLL_OK;
    }
    const struct slot *slot = wait_for_root(t, op, root);
    struct block_desc desc = block_desc_for_us(t, root, op, slot, equal);
    enum coll_error error;
    if (slot_kind(slot) == SLOT_PIPELINED) {
        error = stream_receive(t, block_stream(t, root, desc, mine));
    } else if (slot_kind(slot) == SLOT_REFERENCE &&
               transport_is_cooperative(desc.where, desc.bytes)) {
        coop_copy_begin(t, &t->mine->coop_copy, op, mine, desc.bytes);
        error = coop_copy_receive(t, &t->mine->coop_copy, op, root, desc.where, mine, desc.bytes);
    } else {
        error = block_receive(t, root, op, slot, desc, equal, mine);
    }
    team_end_by_reference(t, op, slot_kind(slot) == SLOT_REFERENCE, false);
    return error;
}

enum coll_error coll_scatter(struct team *t, const struct blocks *all, struct buffer mine,
                             uint32_t root, bool in_place, bool equal)
{
    enum slot_kind kind = SLOT_INLINE;
    uint32_t op = 0;
    if (!t->alone) {
        op = team_begin(t);
        if (t->self != root)
            return receive_from_root(t, op, mine, root, equal);
        if (blocks_any_remote(t, all) || !may_skip(t, equal))
            kind = blocks_publish(t, op, all, BY_REFERENCE_LONG);
    }
    enum coll_error error = COLL_OK;
    if (!in_place && !team_is_inter(t))
        error = copy_own(mine, block_of(all, root), 2 * t->size);
    if (!t->alone) {
        finish_receivers(t, op, kind, all, equal);
        team_end(t);
    }
    return error;
}
