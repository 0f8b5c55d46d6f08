#include "coll_inplace/receive.h"

#include "coll_inplace/stream.h"

/* Publish a copy of the parent's slot in ours. */
static const struct slot *pass_on(struct team *t, uint32_t op, const struct slot *received)
{
    team_wait_slot(t);
    struct slot *mine = slot_of(t->own_ring, op);
    memcpy(mine->data, received->data, SLOT_ROOM);
    team_publish_header(t, op, received->header);
    return mine;
}

const struct slot *wait_for_root(struct team *t, uint32_t op, uint32_t root)
{
    if (t->flat)
        return team_wait_ahead(t, root, op);
    struct tree_node mine = tree_node(t->size, t->rank, root);
    const struct slot *received = team_wait(t, mine.parent, op);
    team_find_ring(t, root, op);
    return mine.inner ? pass_on(t, op, received) : received;
}

enum coll_error receive_bytes(struct buffer to, size_t first, const char *from, size_t bytes)
{
    size_t room = bytes_of(to);
    room = room > first ? room - first : 0;
    buffer_write(to, first, from, min_size(bytes, room));
    return bytes > room ? COLL_TRUNCATE : COLL_OK;
}

/* Copy data out of private memory of their owner. A buffer that is not contiguous is filled in
 * parts, by way of a cell of our stream. */
static enum coll_error fetch_private(struct team *t, uint32_t owner, remote_addr_t address,
                                     struct buffer to, size_t bytes)
{
    const struct typemap *map = typemap_to_move(to.map);
    if (map->contiguous)
        return remote_read(t, owner, address, 0, to.at + map->low, bytes) ? COLL_OK
                                                                          : COLL_UNREACHABLE;
    char *part = stream_borrow(t);
    for (size_t at = 0; at < bytes; at += STREAM_CELL) {
        size_t some = min_size(STREAM_CELL, bytes - at);
        if (!remote_read(t, owner, address, at, part, some))
            return COLL_UNREACHABLE;
        buffer_write(to, at, part, some);
    }
    return COLL_OK;
}

enum coll_error receive_reference(struct team *t, uint32_t owner, remote_addr_t address,
                                  struct buffer to, size_t bytes)
{
    const char *local = remote_addr_local(address);
    if (local)
        return receive_bytes(to, 0, local, bytes);
    size_t room = bytes_of(to);
    enum coll_error error = fetch_private(t, owner, address, to, min_size(bytes, room));
    return bytes > room ? error | COLL_TRUNCATE : error;
}

enum coll_error receive_slot(struct team *t, uint32_t rank, uint32_t op, const struct slot *slot,
                             struct buffer to)
{
    size_t bytes = slot_bytes(slot);
    if (slot_kind(slot) == SLOT_REFERENCE)
        return receive_reference(t, rank, slot_address(slot), to, bytes);
    return receive_bytes(to, 0, slot_data(t, rank, op, slot), bytes);
}

enum coll_error copy_own(struct buffer to, struct buffer from, uint32_t blocks)
{
    const struct typemap *to_map = typemap_to_move(to.map), *map = typemap_to_move(from.map);
    size_t bytes = bytes_of(from), room = bytes_of(to), some = min_size(bytes, room);
    if (to_map->contiguous && map->contiguous && transport_streams_copy(some, blocks * some))
        copy_nontemporal(to.at, from.at, some);
    else
        typemap_copy(to.at, to_map, from.at, map, some);
    return bytes > room ? COLL_TRUNCATE : COLL_OK;
}
