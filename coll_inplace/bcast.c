/* Barrier and broadcast. A broadcast does not synchronise: the root leaves once its data are on
 * their way, unless they by_reference where they are. */
#include "coll_inplace/coop_copy.h"

void coll_barrier(struct team *t)
{
    if (t->size == 1)
        return;
    barrier_wait(&t->barrier);
    team_note_all_done(t, t->op);
}

enum coll_error coll_take(struct buffer to, size_t first, const char *data, size_t bytes)
{
    size_t room = bytes_of(to);
    room = room > first ? room - first : 0;
    buffer_write(to, first, data, min_size(bytes, room));
    return bytes > room ? COLL_TRUNCATE : COLL_OK;
}

/* From private memory, in parts where the data do not go into one piece. */
static enum coll_error fetch(const struct team *t, uint32_t owner, remote_addr_t place,
                             struct buffer to, size_t bytes)
{
    const struct typemap *map = typemap_to_move(to.map);
    char part[TEAM_CELL];
    if (map->contiguous)
        return remote_read(t, owner, place, 0, to.at + map->low, bytes) ? COLL_OK
                                                                        : COLL_UNREACHABLE;
    for (size_t at = 0; at < bytes; at += sizeof part) {
        size_t some = min_size(sizeof part, bytes - at);
        if (!remote_read(t, owner, place, at, part, some))
            return COLL_UNREACHABLE;
        buffer_write(to, at, part, some);
    }
    return COLL_OK;
}

enum coll_error coll_take_place(const struct team *t, uint32_t owner, remote_addr_t place,
                                struct buffer to, size_t bytes)
{
    const char *here = remote_addr_local(place);
    if (here)
        return coll_take(to, 0, here, bytes);
    size_t room = bytes_of(to);
    enum coll_error error = fetch(t, owner, place, to, min_size(bytes, room));
    return bytes > room ? error | COLL_TRUNCATE : error;
}

enum coll_error coll_take_post(struct team *t, uint32_t rank, uint32_t op, const struct slot *slot,
                               struct buffer to)
{
    size_t bytes = slot_bytes(slot);
    if (slot_kind(slot) == SLOT_REFERENCE)
        return coll_take_place(t, rank, slot_address(slot), to, bytes);
    return coll_take(to, 0, slot_data(t, rank, op, slot), bytes);
}

enum coll_error coll_copy(struct buffer to, struct buffer from, uint32_t blocks)
{
    const struct typemap *to_map = typemap_to_move(to.map), *map = typemap_to_move(from.map);
    size_t bytes = bytes_of(from), room = bytes_of(to), some = min_size(bytes, room);
    if (some >= NONTEMPORAL_COPY_MIN && to_map->contiguous && map->contiguous &&
        !copy_caches_hold(blocks * some))
        copy_nontemporal(to.at, from.at, some);
    else
        typemap_copy(to.at, to_map, from.at, map, some);
    return bytes > room ? COLL_TRUNCATE : COLL_OK;
}

/* Our slot becomes a copy of what we heard. There is room: the root has waited for it. */
static const struct slot *hand_on(struct team *t, uint32_t op, const struct slot *heard)
{
    team_note_all_done(t, op - TEAM_SLOTS);
    struct slot *mine = slot_of(t->mine, op);
    memcpy(mine->data, heard->data, SLOT_ROOM);
    team_publish_word(t, op, heard->what);
    return mine;
}

const struct slot *tree_hear(struct team *t, uint32_t op, uint32_t root)
{
    if (t->size <= TREE_FLAT)
        return team_wait_stream(t, root, op);
    struct tree_node mine = tree_node(t->order, t->rank, root);
    const struct slot *heard = team_wait(t, mine.parent, op);
    return mine.inner ? hand_on(t, op, heard) : heard;
}

static void send_pieces(struct team *t, struct buffer data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        uint32_t op = team_begin_piece(t);
        team_publish_piece(t, op, data, at, min_size(PIECE, bytes - at));
        team_end(t);
    }
}

static enum coll_error take_pieces(struct team *t, struct buffer data, size_t bytes, uint32_t root)
{
    enum coll_error error = COLL_OK;
    for (size_t at = 0; at < bytes; at += PIECE) {
        uint32_t op = team_begin_piece(t);
        const struct slot *slot = team_wait(t, root, op);
        error |= coll_take(data, at, piece_of(t->mailbox[root], op), slot_bytes(slot));
        team_done(t, t->op);
    }
    return error;
}

static void help_all(struct team *t, uint32_t op, struct buffer data)
{
    for (uint32_t r = 0; r < t->size; r++)
        if (r != t->rank)
            coop_copy_help(t, &t->mailbox[r]->coop_copy, op, r, data);
}

static void send(struct team *t, uint32_t op, struct buffer data)
{
    enum slot_kind kind = team_publish_data(t, op, data, BY_REFERENCE_LONG, 0);
    if (kind == SLOT_REFERENCE && coop_copy_slot_pays(slot_of(t->mine, op)))
        help_all(t, op, data);
    if (kind == SLOT_REFERENCE)
        team_wait_all(t, op);
    else if (kind == SLOT_PIPELINED)
        send_pieces(t, data, bytes_of(data));
    team_end(t);
}

enum coll_error coll_bcast(struct team *t, struct buffer data, uint32_t root)
{
    if (t->size == 1)
        return COLL_OK;
    uint32_t op = team_begin(t);
    if (!bytes_of(data)) {
        team_end(t);
        return COLL_OK;
    }
    if (t->rank == root) {
        send(t, op, data);
        return COLL_OK;
    }
    const struct slot *slot = tree_hear(t, op, root);
    size_t bytes = slot_bytes(slot);
    if (slot_kind(slot) == SLOT_PIPELINED)
        return take_pieces(t, data, bytes, root);
    enum coll_error error;
    if (coop_copy_slot_pays(slot)) {
        coop_copy_begin(t, &t->mine->coop_copy, op, data, bytes);
        error =
            coop_copy_receive(t, &t->mine->coop_copy, op, root, slot_address(slot), data, bytes);
    } else {
        error = coll_take_post(t, root, op, slot, data);
    }
    if (slot_kind(slot) == SLOT_REFERENCE)
        team_done(t, op);
    else
        team_end(t);
    return error;
}
