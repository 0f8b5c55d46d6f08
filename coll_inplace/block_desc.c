#include "coll_inplace/block_desc.h"

/* ---- senders ---- */

/* The rank that has written a slot, as its readers see it. */
struct sender {
    struct ring *ring;    /* in which it has published */
    uint32_t rank, group; /* its rank in its group, and the size of the group */
    uint32_t entries;     /* of its tables: one for each rank whose mailbox it reads */
    uint32_t self;        /* its own entry, or INTER_ROOT */
    uint32_t readers;     /* ranks other than itself that read its mailbox */
};

HOT_INLINE struct sender us(const struct team *t)
{
    return (struct sender){t->own_ring, t->rank, t->group, t->size, t->self, t->peers};
}

HOT_INLINE struct sender peer(const struct team *t, uint32_t rank)
{
    uint32_t self = team_is_inter(t) ? INTER_ROOT : rank;
    return (struct sender){t->ring[rank], rank, t->size, t->group, self, t->readers};
}

/* ---- tables ---- */

static size_t table_bytes(uint32_t entries)
{
    return entries * sizeof(struct block_desc);
}

/* A table is in the slot if it fits there, else at the beginning of the cell. */
static size_t table_in_cell(uint32_t entries)
{
    return fits_into_slot(table_bytes(entries)) ? 0 : table_bytes(entries);
}

static char *block_table(struct ring *ring, uint32_t op, uint32_t entries)
{
    return table_in_cell(entries) ? cell_of(ring, op) : slot_of(ring, op)->data;
}

static char *behind_table(struct ring *ring, uint32_t op, uint32_t entries)
{
    return cell_of(ring, op) + table_in_cell(entries);
}

/* ---- sending ---- */

static size_t remote_bytes(const struct team *t, const struct blocks *all, uint32_t r)
{
    return r == t->self ? 0 : bytes_of(block_of(all, r));
}

/* Total and largest length of the blocks for other ranks. */
struct sizes {
    size_t bytes, largest;
};

static struct sizes sizes_of(const struct team *t, const struct blocks *all)
{
    struct sizes s = {0};
    if (blocks_are_equal(all)) {
        s.largest = bytes_of((struct buffer){all->at, all->map, all->count});
        s.bytes = s.largest * t->peers;
        return s;
    }
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = remote_bytes(t, all, r);
        s.bytes += some;
        s.largest = some > s.largest ? some : s.largest;
    }
    return s;
}

bool blocks_any_remote(const struct team *t, const struct blocks *all)
{
    return sizes_of(t, all).bytes;
}

_Static_assert(SLOT_ROOM <= INT8_MAX, "lengths are in a char, signed or not");

/* Publish all blocks in the slot: the length of each block, in a byte, and then the blocks. */
static void publish_short(struct team *t, uint32_t op, const struct blocks *all)
{
    team_wait_slot(t);
    char *data = slot_of(t->own_ring, op)->data, *to = data + t->size;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t bytes = remote_bytes(t, all, r);
        data[r] = (char)bytes;
        buffer_read(to, block_of(all, r), 0, bytes);
        to += bytes;
    }
    team_publish(t, op, SLOT_INLINE, (size_t)(to - data));
}

static enum slot_kind publish_table(struct team *t, uint32_t op, const struct blocks *all,
                                    size_t bytes, enum by_reference by_reference)
{
    enum slot_kind kind = transport_of_blocks(t, all, bytes, table_in_cell(t->size), by_reference);
    if (kind == SLOT_INLINE) {
        publish_short(t, op, all);
        return kind;
    }
    team_wait_cell(t, TEAM_CELL);
    char *table = block_table(t->own_ring, op, t->size),
         *behind = behind_table(t->own_ring, op, t->size);
    uint32_t stream = team_stream_start(t);
    size_t at = 0;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = team_partner(t, i);
        struct block_desc desc = {.bytes = remote_bytes(t, all, r)};
        if (kind == SLOT_REFERENCE && desc.bytes) {
            desc.where = remote_addr_to_read(t, block_of(all, r), desc.bytes);
        } else if (kind == SLOT_PIPELINED) {
            desc.where = stream;
            stream += stream_pieces(desc.bytes);
        } else if (desc.bytes) {
            desc.where = at;
            team_fill(t, behind + at, block_of(all, r), 0, desc.bytes);
            at += desc.bytes;
        }
        memcpy(table + r * sizeof desc, &desc, sizeof desc);
    }
    team_publish(t, op, kind, at);
    return kind;
}

/* Send short blocks that do not fit into the cell as copies in a block of memory: the root of a
 * scatter must not wait for its receivers (H15: under the host, a scatter of such blocks does not
 * synchronise), and in an exchange the OS would copy each private block by itself. False: not
 * worthwhile, more than HOLD_MAX bytes, or no memory. */
static bool publish_held(struct team *t, uint32_t op, const struct blocks *all, struct sizes sizes,
                         enum by_reference by_reference)
{
    uint64_t position;
    bool equal = blocks_are_equal(all); /* then copy our own block, too: offsets include it */
    size_t own = equal && !team_is_inter(t) ? bytes_of(block_of(all, t->self)) : 0;
    size_t bytes = sizes.bytes + own, at = 0;
    bool scatter = by_reference == BY_REFERENCE_LONG;
    bool exchange = by_reference == BY_REFERENCE && !team_is_inter(t) &&
                    !node_position(all->at, 1, &position); /* of private memory */
    if (!(scatter || exchange) ||
        !transport_holds_blocks(sizes.largest, sizes.bytes, table_in_cell(t->size), bytes))
        return false;
    team_wait_cell(t, TEAM_CELL);
    char *block = team_hold(t, op, bytes), *table = block_table(t->own_ring, op, t->size);
    if (!block)
        return false;
    remote_addr_t address = remote_addr_of(block);
    for (uint32_t r = 0; r < t->size; r++) {
        struct block_desc desc = {equal ? sizes.largest : remote_bytes(t, all, r),
                                  address + 2 * at};
        team_fill(t, block + at, block_of(all, r), 0, desc.bytes);
        at += desc.bytes;
        if (!equal)
            memcpy(table + r * sizeof desc, &desc, sizeof desc);
    }
    if (equal)
        memcpy(slot_of(t->own_ring, op)->data, &address, sizeof address);
    team_publish(t, op, SLOT_REFERENCE, bytes);
    return true;
}

/* Equal blocks that are copied need no table: they are adjacent, without our own. Private ones are
 * copied if they fit into the cell: there, unlike for a single buffer, each costs a system call. */
static enum slot_kind publish_equal(struct team *t, uint32_t op, const struct blocks *all,
                                    struct sizes sizes, enum by_reference by_reference)
{
    struct buffer whole = {all->at, all->map, all->count * t->size};
    enum slot_kind kind = SLOT_PIPELINED;
    remote_addr_t address;
    if (fits_into_cell(sizes.bytes))
        kind = transport_of(t, whole, sizes.bytes,
                            by_reference == BY_REFERENCE ? BY_REFERENCE_OPERANDS : by_reference,
                            &address);
    if (kind == SLOT_PIPELINED || kind == SLOT_REFERENCE)
        return team_publish_data(t, op, whole, by_reference);
    team_wait_room(t, kind, sizes.bytes);
    size_t before = team_is_inter(t) ? sizes.bytes : t->self * sizes.largest;
    char *to = kind == SLOT_INLINE ? slot_of(t->own_ring, op)->data : team_cell(t, sizes.bytes);
    team_fill(t, to, whole, 0, before);
    team_fill(t, to + before, whole, before + sizes.largest, sizes.bytes - before);
    team_publish(t, op, kind, sizes.bytes);
    return kind;
}

enum slot_kind blocks_publish(struct team *t, uint32_t op, const struct blocks *all,
                              enum by_reference by_reference)
{
    if (t->peers == 1)
        return team_publish_data(t, op, block_of(all, t->self == 0), by_reference);
    struct sizes sizes = sizes_of(t, all);
    bool fits = fits_into_cell(sizes.bytes + table_bytes(t->size));
    if (UNLIKELY(!fits) && publish_held(t, op, all, sizes, by_reference))
        return SLOT_BUFFERED; /* copies are held, so the caller need not wait */
    return blocks_are_equal(all) ? publish_equal(t, op, all, sizes, by_reference)
                                 : publish_table(t, op, all, sizes.bytes, by_reference);
}

void blocks_await_readers(struct team *t, uint32_t op, const struct blocks *all)
{
    for (uint32_t r = 0; r < t->size; r++)
        if (remote_bytes(t, all, r))
            sync_wait_until(&t->mailbox[r]->done, op);
    team_note_refusals(t);
}

/* ---- receiving ---- */

/* Among equal blocks that are copied or streamed, the sender's own is left out. */
HOT_INLINE struct block_desc equal_block(const struct sender *s, const struct slot *slot,
                                         uint32_t to)
{
    struct block_desc desc;
    if (LIKELY(slot_kind(slot) == SLOT_INLINE || slot_kind(slot) == SLOT_BUFFERED)) {
        desc.bytes = slot_bytes(slot) / s->readers;
        desc.where = (to - (s->self < to)) * desc.bytes;
        return desc;
    }
    desc.bytes = slot_bytes(slot) / s->entries;
    if (slot_kind(slot) == SLOT_REFERENCE) {
        desc.where = slot_address(slot) + (remote_addr_t)2 * to * desc.bytes;
        return desc;
    }
    uint32_t first = first_partner(s->rank, s->group, s->entries), own = s->entries;
    uint32_t turn = (to + s->entries - first) % s->entries;
    if (s->self != INTER_ROOT)
        own = (s->self + s->entries - first) % s->entries;
    desc.where = slot_stream_start(slot) + (turn - (own < turn)) * stream_pieces(desc.bytes);
    return desc;
}

/* A block of publish_short(); `where` is its offset in the slot. */
HOT_INLINE struct block_desc short_block(const struct sender *s, const struct slot *slot,
                                         uint32_t to)
{
    struct block_desc desc = {.bytes = (size_t)slot->data[to], .where = s->entries};
    for (uint32_t r = 0; r < to; r++)
        desc.where += (size_t)slot->data[r];
    return desc;
}

/* The block of the only reader. */
HOT_INLINE struct block_desc only_block(const struct slot *slot)
{
    struct block_desc desc = {.bytes = slot_bytes(slot)};
    if (slot_kind(slot) == SLOT_REFERENCE)
        desc.where = slot_address(slot);
    else if (slot_kind(slot) == SLOT_PIPELINED)
        desc.where = slot_stream_start(slot);
    return desc;
}

HOT_INLINE struct block_desc block_in(const struct sender *s, uint32_t op, const struct slot *slot,
                                      uint32_t to, bool equal)
{
    struct block_desc desc;
    if (s->readers == 1)
        return only_block(slot);
    if (equal)
        return equal_block(s, slot, to);
    if (LIKELY(slot_kind(slot) == SLOT_INLINE))
        return short_block(s, slot, to);
    const char *table = table_in_cell(s->entries) ? cell_of(s->ring, op) : slot->data;
    memcpy(&desc, table + to * sizeof desc, sizeof desc);
    return desc;
}

struct block_desc block_desc_for_us(struct team *t, uint32_t rank, uint32_t op,
                                    const struct slot *slot, bool equal)
{
    struct sender sender = peer(t, rank);
    return block_in(&sender, op, slot, t->rank, equal);
}

struct block_desc block_desc_sent(struct team *t, uint32_t op, uint32_t rank, bool equal)
{
    struct sender sender = us(t);
    return block_in(&sender, op, slot_of(t->own_ring, op), rank, equal);
}

enum coll_error block_receive(struct team *t, uint32_t rank, uint32_t op, const struct slot *slot,
                              struct block_desc desc, bool equal, struct buffer to)
{
    if (slot_kind(slot) == SLOT_REFERENCE)
        return receive_reference(t, rank, desc.where, to, desc.bytes);
    const char *data = equal || t->readers == 1 || slot_kind(slot) == SLOT_INLINE
                           ? slot_data(t, rank, op, slot)
                           : behind_table(t->ring[rank], op, t->group);
    return receive_bytes(to, 0, data + desc.where, desc.bytes);
}
