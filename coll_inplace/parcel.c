#include "coll_inplace/parcel.h"

#include "coll_inplace/stream.h"

/* All bytes for others, with the table. */
static size_t total(struct team *t, const struct blocks *all)
{
    size_t bytes = t->size * sizeof(struct parcel);
    for (uint32_t r = 0; r < t->size; r++)
        if (r != t->rank)
            bytes += round_up(bytes_of(block_of(all, r)), sizeof(uint64_t));
    return bytes;
}

static bool all_in_place(struct team *t, const struct blocks *all)
{
    for (uint32_t r = 0; r < t->size; r++) {
        struct buffer b = block_of(all, r);
        if (r != t->rank && bytes_of(b) && !team_place(b, bytes_of(b)))
            return false;
    }
    return true;
}

/* Write the table to `to`, and behind it, if they are to be there, the data. */
static void fill(struct team *t, char *to, const struct blocks *all, enum post_kind kind)
{
    uint64_t behind = t->size * sizeof(struct parcel);
    uint32_t stream = stream_start(t);
    for (uint32_t s = 0; s < t->size; s++) {
        uint32_t r = parcel_partner(t, s);
        struct buffer b = r == t->rank ? (struct buffer){0} : block_of(all, r);
        size_t bytes = r == t->rank ? 0 : bytes_of(b);
        struct parcel parcel = {.bytes = bytes};
        if (kind == POST_PLACE) {
            parcel.where = bytes ? (uint64_t)(team_place(b, bytes) - node.base) : 0;
        } else if (kind == POST_PIECES) {
            parcel.where = stream;
            stream += stream_pieces(bytes);
        } else {
            parcel.where = behind;
            if (bytes)
                buffer_read(to + behind, b, 0, bytes);
            behind += round_up(bytes, sizeof(uint64_t));
        }
        memcpy(to + r * sizeof parcel, &parcel, sizeof parcel);
    }
}

enum post_kind parcels_post(struct team *t, uint32_t op, const struct blocks *all, bool copied)
{
    size_t bytes = total(t, all);
    enum post_kind kind = bytes <= POST_ROOM                ? POST_HERE
                          : bytes <= TEAM_CELL              ? POST_CELL
                          : !copied && all_in_place(t, all) ? POST_PLACE
                                                            : POST_PIECES;
    team_await_room(t);
    fill(t, kind == POST_HERE ? post_of(t->mine, op)->data : cell_of(t->mine, op), all, kind);
    team_post(t, op, kind, bytes);
    return kind;
}
