#include "coll_inplace/block_desc.h"

#include "coll_inplace/thresholds.h"

/* ---- tables ---- */

static size_t table_bytes(const struct team *t)
{
    return t->size * sizeof(struct block_desc);
}

/* It is in the slot if it fits there, else at the beginning of the cell. */
static size_t table_in_cell(const struct team *t)
{
    return table_bytes(t) <= SLOT_ROOM ? 0 : table_bytes(t);
}

static char *table_of(struct team *t, uint32_t rank, uint32_t op)
{
    return table_bytes(t) <= SLOT_ROOM ? slot_of(t->mailbox[rank], op)->data
                                       : cell_of(t->mailbox[rank], op);
}

/* In the cell. */
static char *behind_table(struct team *t, uint32_t rank, uint32_t op)
{
    return cell_of(t->mailbox[rank], op) + table_in_cell(t);
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

bool blocks_any_remote(const struct team *t, const struct blocks *all)
{
    return sizes_of(t, all).bytes;
}

/* They can by_reference where they lie, and that is faster than to copy `bytes` bytes. */
static bool may_stay(struct team *t, const struct blocks *all, size_t bytes,
                     enum by_reference by_reference)
{
    bool shared = true, fits = bytes + table_in_cell(t) <= TEAM_CELL;
    if (by_reference == BY_REFERENCE_NEVER || bytes < BY_REFERENCE_MIN ||
        (by_reference == BY_REFERENCE_LONG && fits))
        return false;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = block_bytes(t, all, r);
        remote_addr_t place = some ? team_address(t, block_of(all, r), some) : 0;
        if (some && !place)
            return false;
        shared = shared && (!place || remote_addr_local(place));
    }
    return shared || !fits;
}

static enum slot_kind choose(struct team *t, const struct blocks *all, size_t bytes,
                             enum by_reference by_reference)
{
    if (bytes + t->size <= SLOT_ROOM)
        return SLOT_INLINE;
    if (may_stay(t, all, bytes, by_reference))
        return SLOT_REFERENCE;
    return bytes + table_in_cell(t) <= TEAM_CELL ? SLOT_BUFFERED : SLOT_PIPELINED;
}

_Static_assert(SLOT_ROOM <= INT8_MAX, "lengths are in bytes of any sign");

/* All in the slot: how long each is, in a byte, and then they. */
static void publish_short(struct team *t, uint32_t op, const struct blocks *all)
{
    team_wait_room(t, SLOT_INLINE);
    char *data = slot_of(t->mine, op)->data, *to = data + t->size;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t bytes = block_bytes(t, all, r);
        data[r] = (char)bytes;
        buffer_read(to, block_of(all, r), 0, bytes);
        to += bytes;
    }
    team_publish(t, op, SLOT_INLINE, (size_t)(to - data));
}

static enum slot_kind publish_table(struct team *t, uint32_t op, const struct blocks *all,
                                    size_t bytes, enum by_reference by_reference)
{
    enum slot_kind kind = choose(t, all, bytes, by_reference);
    if (kind == SLOT_INLINE) {
        publish_short(t, op, all);
        return kind;
    }
    team_wait_room(t, kind);
    char *table = table_of(t, t->rank, op), *behind = behind_table(t, t->rank, op);
    uint32_t stream = stream_start(t);
    size_t at = 0;
    for (uint32_t s = 0; s < t->size; s++) {
        uint32_t r = exchange_partner(t, s);
        struct block_desc block_desc = {.bytes = block_bytes(t, all, r)};
        if (kind == SLOT_REFERENCE && block_desc.bytes) {
            block_desc.where = team_address(t, block_of(all, r), block_desc.bytes);
        } else if (kind == SLOT_PIPELINED) {
            block_desc.where = stream;
            stream += stream_pieces(block_desc.bytes);
        } else if (block_desc.bytes) {
            block_desc.where = at;
            team_fill(t, behind + at, block_of(all, r), 0, block_desc.bytes);
            at += block_desc.bytes;
        }
        memcpy(table + r * sizeof block_desc, &block_desc, sizeof block_desc);
    }
    team_publish(t, op, kind, at);
    return kind;
}

/* Copies of them all in a block of memory, whatever the team's cells hold: the root of a scatter of
 * small blocks must not be kept by its leaves (H15). False: no need, or no room. */
static bool publish_held(struct team *t, uint32_t op, const struct blocks *all, struct sizes sizes)
{
    size_t bytes = sizes.bytes + bytes_of(block_of(all, t->rank)), at = 0;
    if (sizes.largest > EAGER_MAX || sizes.bytes + table_in_cell(t) <= TEAM_CELL ||
        bytes > HOLD_MAX)
        return false;
    team_wait_room(t, SLOT_BUFFERED);
    char *block = team_hold(t, op, bytes), *table = table_of(t, t->rank, op);
    if (!block)
        return false;
    remote_addr_t place = (remote_addr_t)(block - node.base) << 1;
    for (uint32_t r = 0; r < t->size; r++) {
        struct block_desc block_desc = {bytes_of(block_of(all, r)), place + 2 * at};
        team_fill(t, block + at, block_of(all, r), 0, block_desc.bytes);
        at += block_desc.bytes;
        if (!blocks_are_equal(all))
            memcpy(table + r * sizeof block_desc, &block_desc, sizeof block_desc);
    }
    if (blocks_are_equal(all))
        memcpy(slot_of(t->mine, op)->data, &place, sizeof place);
    team_publish(t, op, SLOT_REFERENCE, bytes);
    return true;
}

/* Equally long blocks that are copied need no table: one after another, without our own. */
static enum slot_kind publish_equal(struct team *t, uint32_t op, const struct blocks *all,
                                    struct sizes sizes, enum by_reference by_reference)
{
    struct buffer whole = {all->at, all->map, all->count * t->size};
    enum slot_kind kind = sizes.bytes <= SLOT_ROOM ? SLOT_INLINE : SLOT_BUFFERED;
    if (sizes.bytes > TEAM_CELL ||
        (kind == SLOT_BUFFERED && team_by_reference(t, whole, sizes.bytes, by_reference)))
        return team_publish_data(t, op, whole, by_reference, stream_start(t));
    team_wait_room(t, kind);
    size_t before = t->rank * sizes.largest;
    char *to =
        kind == SLOT_INLINE ? slot_of(t->mine, op)->data : cell_for(t->mine, op, sizes.bytes);
    team_fill(t, to, whole, 0, before);
    team_fill(t, to + before, whole, before + sizes.largest, sizes.bytes - before);
    team_publish(t, op, kind, sizes.bytes);
    return kind;
}

enum slot_kind blocks_publish(struct team *t, uint32_t op, const struct blocks *all,
                              enum by_reference by_reference)
{
    if (t->size == 2)
        return team_publish_data(t, op, block_of(all, 1 - t->rank), by_reference, stream_start(t));
    struct sizes sizes = sizes_of(t, all);
    bool many = sizes.bytes + table_bytes(t) > TEAM_CELL / 2;
    if (UNLIKELY(many) && by_reference == BY_REFERENCE_LONG && publish_held(t, op, all, sizes))
        return SLOT_BUFFERED; /* for us it is as good as that */
    return blocks_are_equal(all) ? publish_equal(t, op, all, sizes, by_reference)
                                 : publish_table(t, op, all, sizes.bytes, by_reference);
}

/* ---- taking ---- */

/* Of equal blocks. Their streams, and what is copied, are without the sender's own. */
static struct block_desc equal_block_desc(struct team *t, uint32_t rank, const struct slot *slot,
                                          uint32_t to)
{
    uint32_t step = (rank + to) % t->size, own = 2 * rank % t->size;
    struct block_desc block_desc;
    if (LIKELY(slot_kind(slot) == SLOT_INLINE || slot_kind(slot) == SLOT_BUFFERED)) {
        block_desc.bytes = slot_bytes(slot) / (t->size - 1);
        block_desc.where = (to - (rank < to)) * block_desc.bytes;
        return block_desc;
    }
    block_desc.bytes = slot_bytes(slot) / t->size;
    if (slot_kind(slot) == SLOT_REFERENCE)
        block_desc.where = slot_address(slot) + (remote_addr_t)2 * to * block_desc.bytes;
    else
        block_desc.where =
            slot_stream_start(slot) + (step - (own < step)) * stream_pieces(block_desc.bytes);
    return block_desc;
}

/* `where`: in the slot. */
static struct block_desc short_block_desc(const struct team *t, const struct slot *slot,
                                          uint32_t to)
{
    struct block_desc block_desc = {.bytes = (size_t)slot->data[to], .where = t->size};
    for (uint32_t r = 0; r < to; r++)
        block_desc.where += (size_t)slot->data[r];
    return block_desc;
}

/* Of two ranks: the slot is the block_desc. */
static struct block_desc only_block_desc(const struct slot *slot)
{
    struct block_desc block_desc = {.bytes = slot_bytes(slot)};
    if (slot_kind(slot) == SLOT_REFERENCE)
        block_desc.where = slot_address(slot);
    else if (slot_kind(slot) == SLOT_PIPELINED)
        block_desc.where = slot_stream_start(slot);
    return block_desc;
}

struct block_desc block_desc_for(struct team *t, uint32_t rank, uint32_t op,
                                 const struct slot *slot, uint32_t to, bool equal)
{
    struct block_desc block_desc;
    if (t->size == 2)
        return only_block_desc(slot);
    if (equal)
        return equal_block_desc(t, rank, slot, to);
    if (LIKELY(slot_kind(slot) == SLOT_INLINE))
        return short_block_desc(t, slot, to);
    const char *table = table_bytes(t) <= SLOT_ROOM ? slot->data : table_of(t, rank, op);
    memcpy(&block_desc, table + to * sizeof block_desc, sizeof block_desc);
    return block_desc;
}

enum coll_error block_receive(struct team *t, uint32_t rank, uint32_t op, const struct slot *slot,
                              struct block_desc block_desc, bool equal, struct buffer to)
{
    if (slot_kind(slot) == SLOT_REFERENCE)
        return coll_take_place(t, rank, block_desc.where, to, block_desc.bytes);
    const char *data = equal || t->size == 2 || slot_kind(slot) == SLOT_INLINE
                           ? slot_data(t, rank, op, slot)
                           : behind_table(t, rank, op);
    return coll_take(to, 0, data + block_desc.where, block_desc.bytes);
}
