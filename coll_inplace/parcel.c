#include "coll_inplace/parcel.h"

#include "coll_inplace/choose.h"

/* ---- tables ---- */

static size_t table_bytes(const struct team *t)
{
    return t->size * sizeof(struct parcel);
}

/* It is in the post if it fits there, else at the beginning of the cell. */
static size_t table_in_cell(const struct team *t)
{
    return table_bytes(t) <= POST_ROOM ? 0 : table_bytes(t);
}

static char *table_of(struct team *t, uint32_t rank, uint32_t op)
{
    return table_bytes(t) <= POST_ROOM ? post_of(t->row[rank], op)->data
                                       : cell_of(t->row[rank], op);
}

/* In the cell. */
static char *behind_table(struct team *t, uint32_t rank, uint32_t op)
{
    return cell_of(t->row[rank], op) + table_in_cell(t);
}

static size_t block_bytes(const struct team *t, const struct blocks *all, uint32_t r)
{
    return r == t->rank ? 0 : bytes_of(block_of(all, r));
}

/* Of all blocks but our own. */
struct sizes {
    size_t bytes, largest;
};

static struct sizes sizes_of(const struct team *t, const struct blocks *all)
{
    struct sizes s = {0};
    if (blocks_are_equal(all)) {
        s.largest = bytes_of((struct buffer){all->at, all->map, all->count});
        s.bytes = s.largest * (t->size - 1);
        return s;
    }
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = block_bytes(t, all, r);
        s.bytes += some;
        s.largest = some > s.largest ? some : s.largest;
    }
    return s;
}

bool parcels_any(const struct team *t, const struct blocks *all)
{
    return sizes_of(t, all).bytes;
}

/* They can stay where they lie, and that is faster than to copy `bytes` bytes. */
static bool may_stay(struct team *t, const struct blocks *all, size_t bytes, enum stay stay)
{
    bool shared = true, fits = bytes + table_in_cell(t) <= TEAM_CELL;
    if (stay == STAY_NEVER || bytes < CHOOSE_PLACE || (stay == STAY_LONG && fits))
        return false;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = block_bytes(t, all, r);
        place_t place = some ? team_place(t, block_of(all, r), some) : 0;
        if (some && !place)
            return false;
        shared = shared && (!place || place_shared(place));
    }
    return shared || !fits;
}

static enum post_kind choose(struct team *t, const struct blocks *all, size_t bytes, enum stay stay)
{
    if (bytes + t->size <= POST_ROOM)
        return POST_HERE;
    if (may_stay(t, all, bytes, stay))
        return POST_PLACE;
    return bytes + table_in_cell(t) <= TEAM_CELL ? POST_CELL : POST_PIECES;
}

_Static_assert(POST_ROOM <= INT8_MAX, "lengths are in bytes of any sign");

/* All in the post: how long each is, in a byte, and then they. */
static void post_short(struct team *t, uint32_t op, const struct blocks *all)
{
    team_await_room(t, POST_HERE);
    char *data = post_of(t->mine, op)->data, *to = data + t->size;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t bytes = block_bytes(t, all, r);
        data[r] = (char)bytes;
        buffer_read(to, block_of(all, r), 0, bytes);
        to += bytes;
    }
    team_post(t, op, POST_HERE, (size_t)(to - data));
}

static enum post_kind post_table(struct team *t, uint32_t op, const struct blocks *all,
                                 size_t bytes, enum stay stay)
{
    enum post_kind kind = choose(t, all, bytes, stay);
    if (kind == POST_HERE) {
        post_short(t, op, all);
        return kind;
    }
    team_await_room(t, kind);
    char *table = table_of(t, t->rank, op), *behind = behind_table(t, t->rank, op);
    uint32_t stream = stream_start(t);
    size_t at = 0;
    for (uint32_t s = 0; s < t->size; s++) {
        uint32_t r = parcel_partner(t, s);
        struct parcel parcel = {.bytes = block_bytes(t, all, r)};
        if (kind == POST_PLACE && parcel.bytes) {
            parcel.where = team_place(t, block_of(all, r), parcel.bytes);
        } else if (kind == POST_PIECES) {
            parcel.where = stream;
            stream += stream_pieces(parcel.bytes);
        } else if (parcel.bytes) {
            parcel.where = at;
            team_fill(t, behind + at, block_of(all, r), 0, parcel.bytes);
            at += parcel.bytes;
        }
        memcpy(table + r * sizeof parcel, &parcel, sizeof parcel);
    }
    team_post(t, op, kind, at);
    return kind;
}

/* Copies of them all in a block of memory, whatever the team's cells hold: the root of a scatter of
 * small blocks must not be kept by its leaves (H15). False: no need, or no room. */
static bool post_held(struct team *t, uint32_t op, const struct blocks *all, struct sizes sizes)
{
    size_t bytes = sizes.bytes + bytes_of(block_of(all, t->rank)), at = 0;
    if (sizes.largest > CHOOSE_EAGER || sizes.bytes + table_in_cell(t) <= TEAM_CELL ||
        bytes > CHOOSE_HOLD)
        return false;
    team_await_room(t, POST_CELL);
    char *block = team_hold(t, op, bytes), *table = table_of(t, t->rank, op);
    if (!block)
        return false;
    place_t place = (place_t)(block - node.base) << 1;
    for (uint32_t r = 0; r < t->size; r++) {
        struct parcel parcel = {bytes_of(block_of(all, r)), place + 2 * at};
        team_fill(t, block + at, block_of(all, r), 0, parcel.bytes);
        at += parcel.bytes;
        if (!blocks_are_equal(all))
            memcpy(table + r * sizeof parcel, &parcel, sizeof parcel);
    }
    if (blocks_are_equal(all))
        memcpy(post_of(t->mine, op)->data, &place, sizeof place);
    team_post(t, op, POST_PLACE, bytes);
    return true;
}

/* Equally long blocks that are copied need no table: one after another, without our own. */
static enum post_kind post_equal(struct team *t, uint32_t op, const struct blocks *all,
                                 struct sizes sizes, enum stay stay)
{
    struct buffer whole = {all->at, all->map, all->count * t->size};
    enum post_kind kind = sizes.bytes <= POST_ROOM ? POST_HERE : POST_CELL;
    if (sizes.bytes > TEAM_CELL || (kind == POST_CELL && team_stays(t, whole, sizes.bytes, stay)))
        return team_post_data(t, op, whole, stay, stream_start(t));
    team_await_room(t, kind);
    size_t before = t->rank * sizes.largest;
    char *to = kind == POST_HERE ? post_of(t->mine, op)->data : cell_for(t->mine, op, sizes.bytes);
    team_fill(t, to, whole, 0, before);
    team_fill(t, to + before, whole, before + sizes.largest, sizes.bytes - before);
    team_post(t, op, kind, sizes.bytes);
    return kind;
}

enum post_kind parcels_post(struct team *t, uint32_t op, const struct blocks *all, enum stay stay)
{
    if (t->size == 2)
        return team_post_data(t, op, block_of(all, 1 - t->rank), stay, stream_start(t));
    struct sizes sizes = sizes_of(t, all);
    bool many = sizes.bytes + table_bytes(t) > TEAM_CELL / 2;
    if (UNLIKELY(many) && stay == STAY_LONG && post_held(t, op, all, sizes))
        return POST_CELL; /* for us it is as good as that */
    return blocks_are_equal(all) ? post_equal(t, op, all, sizes, stay)
                                 : post_table(t, op, all, sizes.bytes, stay);
}

/* ---- taking ---- */

/* Of equal blocks. Their streams, and what is copied, are without the sender's own. */
static struct parcel equal_parcel(struct team *t, uint32_t rank, const struct post *post,
                                  uint32_t to)
{
    uint32_t step = (rank + to) % t->size, own = 2 * rank % t->size;
    struct parcel parcel;
    if (LIKELY(post_kind(post) == POST_HERE || post_kind(post) == POST_CELL)) {
        parcel.bytes = post_bytes(post) / (t->size - 1);
        parcel.where = (to - (rank < to)) * parcel.bytes;
        return parcel;
    }
    parcel.bytes = post_bytes(post) / t->size;
    if (post_kind(post) == POST_PLACE)
        parcel.where = post_place(post) + (place_t)2 * to * parcel.bytes;
    else
        parcel.where = post_start(post) + (step - (own < step)) * stream_pieces(parcel.bytes);
    return parcel;
}

/* `where`: in the post. */
static struct parcel short_parcel(const struct team *t, const struct post *post, uint32_t to)
{
    struct parcel parcel = {.bytes = (size_t)post->data[to], .where = t->size};
    for (uint32_t r = 0; r < to; r++)
        parcel.where += (size_t)post->data[r];
    return parcel;
}

/* Of two ranks: the post is the parcel. */
static struct parcel only_parcel(const struct post *post)
{
    struct parcel parcel = {.bytes = post_bytes(post)};
    if (post_kind(post) == POST_PLACE)
        parcel.where = post_place(post);
    else if (post_kind(post) == POST_PIECES)
        parcel.where = post_start(post);
    return parcel;
}

struct parcel parcel_for(struct team *t, uint32_t rank, uint32_t op, const struct post *post,
                         uint32_t to, bool equal)
{
    struct parcel parcel;
    if (t->size == 2)
        return only_parcel(post);
    if (equal)
        return equal_parcel(t, rank, post, to);
    if (LIKELY(post_kind(post) == POST_HERE))
        return short_parcel(t, post, to);
    const char *table = table_bytes(t) <= POST_ROOM ? post->data : table_of(t, rank, op);
    memcpy(&parcel, table + to * sizeof parcel, sizeof parcel);
    return parcel;
}

enum coll_error parcel_take(struct team *t, uint32_t rank, uint32_t op, const struct post *post,
                            struct parcel parcel, bool equal, struct buffer to)
{
    if (post_kind(post) == POST_PLACE)
        return coll_take_place(t, rank, parcel.where, to, parcel.bytes);
    const char *data = equal || t->size == 2 || post_kind(post) == POST_HERE
                           ? post_data(t, rank, op, post)
                           : behind_table(t, rank, op);
    return coll_take(to, 0, data + parcel.where, parcel.bytes);
}
