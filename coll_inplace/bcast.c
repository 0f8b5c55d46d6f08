/* MPI_Bcast. It does not synchronise: the root returns as soon as its data are in the slot, the
 * cell or the last pieces. If the ranks read long data by reference, the root waits for them. */
#include "alloc/arena.h"
#include "coll_inplace/coop_copy.h"
#include "coll_inplace/receive.h"
#include "coll_inplace/stream.h"

static void send_pieces(struct team *t, struct buffer data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        uint32_t op = team_begin_piece(t);
        team_publish_piece(t, op, data, at, min_size(PIECE, bytes - at));
        team_end(t);
    }
}

static enum coll_error receive_pieces(struct team *t, struct buffer data, size_t bytes,
                                      uint32_t root)
{
    enum coll_error error = COLL_OK;
    for (size_t at = 0; at < bytes; at += PIECE) {
        uint32_t op = team_begin_piece(t);
        const struct slot *slot = team_wait(t, root, op);
        error |= receive_bytes(data, at, piece_of(t->ring[root], op), slot_bytes(slot));
        team_done(t, t->op);
    }
    return error;
}

static void send_pipelined(struct team *t, struct buffer data)
{
    if (!team_is_inter(t))
        send_pieces(t, data, bytes_of(data));
    for (uint32_t i = 0; team_is_inter(t) && i < t->size; i++)
        stream_send(t, data);
}

static enum coll_error receive_pipelined(struct team *t, struct buffer data,
                                         const struct slot *slot, uint32_t root)
{
    if (!team_is_inter(t))
        return receive_pieces(t, data, slot_bytes(slot), root);
    return stream_receive(t, stream_of_partner(t, root, slot, data));
}

static void help_all(struct team *t, uint32_t op, struct buffer data)
{
    for (uint32_t r = 0; r < t->size; r++)
        if (r != t->self)
            coop_copy_help(t, &t->mailbox[r]->coop_copy, op, r, data);
}

/* Let all ranks read a copy of the data. False: not worthwhile, or no memory. */
static bool bcast_copy(struct team *t, uint32_t op, struct buffer data)
{
    size_t bytes = bytes_of(data);
    remote_addr_t address;
    transport_of(t, data, bytes, BY_REFERENCE_LONG, &address);
    if (!transport_holds_data(t->size, address, bytes))
        return false;
    char *copy = arena_control_alloc_raw(bytes);
    if (!copy)
        return false;
    team_fill(t, copy, data, 0, bytes);
    team_publish_address(t, op, remote_addr_of(copy), bytes);
    team_await_readers(t, op);
    arena_control_free(copy);
    team_end(t);
    return true;
}

static void send_to_all(struct team *t, uint32_t op, struct buffer data)
{
    if (UNLIKELY(t->size > READERS_MAX) && bcast_copy(t, op, data))
        return;
    enum slot_kind kind = team_publish_data(t, op, data, BY_REFERENCE_LONG);
    if (kind == SLOT_REFERENCE && coop_copy_slot_pays(slot_of(t->own_ring, op)))
        help_all(t, op, data);
    if (kind == SLOT_REFERENCE)
        team_await_readers(t, op);
    else if (kind == SLOT_PIPELINED)
        send_pipelined(t, data);
    team_end(t);
}

enum coll_error coll_bcast(struct team *t, struct buffer data, uint32_t root)
{
    if (t->alone)
        return COLL_OK;
    uint32_t op = team_begin(t);
    if (!bytes_of(data)) {
        team_end(t);
        return COLL_OK;
    }
    if (t->self == root) {
        send_to_all(t, op, data);
        return COLL_OK;
    }
    const struct slot *slot = wait_for_root(t, op, root);
    if (slot_kind(slot) == SLOT_PIPELINED) {
        enum coll_error error = receive_pipelined(t, data, slot, root);
        team_end(t);
        return error;
    }
    bool reads = slot_kind(slot) == SLOT_REFERENCE;
    enum coll_error error = receive_rooted(t, &t->mine->coop_copy, op, root, slot, data);
    team_end_by_reference(t, op, reads, false);
    return error;
}
