#include "coll_inplace/inter_coll.h"

#include "coll_inplace/block_desc.h"
#include "coll_inplace/thresholds.h"

#include <stdlib.h>

/* The end of a call: who has read what stays where it lies says so at once. */
static void end(struct team *t, bool bound)
{
    if (bound)
        team_done(t, t->op);
    else
        team_end(t);
}

void inter_coll_pass(struct team *t)
{
    team_begin(t);
    team_end(t);
}

void inter_coll_barrier(struct team *t)
{
    uint32_t op = team_begin(t);
    team_wait_room(t, SLOT_INLINE);
    team_publish(t, op, SLOT_INLINE, 0);
    for (uint32_t r = 0; r < t->size; r++)
        team_wait(t, r, op);
    team_note_all_done(t, op - 1);
    team_end(t);
}

/* ---- streams ----
 *
 * Rank a of one group and b of the other are partners in step a + b modulo the larger group's size:
 * each goes round the other group in a circle, and all meet. */

/* Where a rank of a group of `group` ranks begins among the `others`. */
static uint32_t first_partner(uint32_t rank, uint32_t group, uint32_t others)
{
    uint32_t wrap = (group > others ? group : others) - rank;
    return wrap < others ? wrap : 0;
}

static uint32_t partner(const struct team *t, uint32_t i)
{
    return (first_partner(t->rank, t->group, t->size) + i) % t->size;
}

/* What a rank streams to us alone. */
static enum coll_error take_stream(struct team *t, uint32_t rank, const struct slot *slot,
                                   struct buffer to)
{
    return stream_take(t, stream_in(t, rank, to, slot_bytes(slot), slot_stream_start(slot)));
}

/* What it streams to each of us, in its circle. */
static struct stream stream_for_each(struct team *t, uint32_t rank, const struct slot *slot,
                                     struct buffer to)
{
    uint32_t first = first_partner(rank, t->size, t->group);
    uint32_t turn = (t->rank + t->group - first) % t->group;
    uint32_t start = slot_stream_start(slot) + turn * stream_pieces(slot_bytes(slot));
    return stream_in(t, rank, to, slot_bytes(slot), start);
}

/* ---- the same data for one or all ---- */

static bool streams(const struct slot *slot)
{
    return slot_kind(slot) == SLOT_PIPELINED;
}

static bool stays(const struct slot *slot)
{
    return slot_kind(slot) == SLOT_REFERENCE;
}

static void send(struct team *t, uint32_t op, struct buffer data)
{
    enum slot_kind kind = team_publish_data(t, op, data, BY_REFERENCE_LONG, stream_start(t));
    if (kind == SLOT_REFERENCE)
        team_wait_all(t, op);
    for (uint32_t i = 0; kind == SLOT_PIPELINED && i < t->size; i++)
        stream_give(t, data);
}

enum coll_error inter_coll_bcast(struct team *t, struct buffer data, uint32_t root)
{
    uint32_t op = team_begin(t);
    if (root == INTER_ROOT) {
        send(t, op, data);
        team_end(t);
        return COLL_OK;
    }
    const struct slot *slot = team_wait_stream(t, root, op);
    enum coll_error error;
    bool bound = stays(slot);
    if (streams(slot))
        error = stream_take(t, stream_for_each(t, root, slot, data));
    else
        error = coll_take_post(t, root, op, slot, data);
    end(t, bound);
    return error;
}

static void send_to_root(struct team *t, uint32_t op, struct buffer mine, uint32_t root)
{
    enum slot_kind kind = team_publish_data(t, op, mine, BY_REFERENCE_LONG, stream_start(t));
    if (kind == SLOT_REFERENCE)
        sync_wait_until(&t->mailbox[root]->done, op);
    else if (kind == SLOT_PIPELINED)
        stream_give(t, mine);
}

enum coll_error inter_coll_gather(struct team *t, struct buffer mine, const struct blocks *all,
                                  uint32_t root)
{
    enum coll_error error = COLL_OK;
    bool bound = false;
    uint32_t op = team_begin(t);
    if (root != INTER_ROOT)
        send_to_root(t, op, mine, root);
    for (uint32_t r = 0; root == INTER_ROOT && r < t->size; r++) {
        const struct slot *slot = team_wait_stream(t, r, op);
        bound |= stays(slot);
        error |= streams(slot) ? take_stream(t, r, slot, block_of(all, r))
                               : coll_take_post(t, r, op, slot, block_of(all, r));
    }
    end(t, bound);
    return error;
}

enum coll_error inter_coll_allgather(struct team *t, struct buffer mine, const struct blocks *all)
{
    enum coll_error error = COLL_OK;
    uint32_t op = team_begin(t);
    enum slot_kind kind = team_publish_data(t, op, mine, BY_REFERENCE, stream_start(t));
    bool bound = false, streaming = kind == SLOT_PIPELINED;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = partner(t, i);
        const struct slot *slot = team_wait(t, r, op);
        bound |= stays(slot);
        streaming |= streams(slot);
        if (!streams(slot))
            error |= coll_take_post(t, r, op, slot, block_of(all, r));
    }
    team_note_all_done(t, op - 1);
    for (uint32_t i = 0; streaming && i < t->size; i++) {
        uint32_t r = partner(t, i);
        const struct slot *slot = team_wait(t, r, op);
        struct stream in = stream_none(t), out = stream_none(t);
        if (streams(slot))
            in = stream_for_each(t, r, slot, block_of(all, r));
        if (kind == SLOT_PIPELINED)
            out = stream_out(t, mine, stream_start(t));
        error |= stream_run(&out, &in, false);
    }
    team_end_by_reference(t, op, bound, kind == SLOT_REFERENCE);
    return error;
}

/* ---- something else for every rank ----
 *
 * A slot with a table of parcels (block_desc.h), in the slot if there is room, else at the
 * beginning of the cell; behind it what is copied. `ranks`: of the readers. */

static size_t table_bytes(uint32_t ranks)
{
    return ranks * sizeof(struct block_desc);
}

static char *table_of(struct mailbox *mailbox, uint32_t op, uint32_t ranks)
{
    return table_bytes(ranks) <= SLOT_ROOM ? slot_of(mailbox, op)->data : cell_of(mailbox, op);
}

static char *behind_table(struct mailbox *mailbox, uint32_t op, uint32_t ranks, enum slot_kind kind)
{
    if (kind == SLOT_INLINE)
        return slot_of(mailbox, op)->data + table_bytes(ranks);
    return cell_of(mailbox, op) + (table_bytes(ranks) <= SLOT_ROOM ? 0 : table_bytes(ranks));
}

static bool may_stay(struct team *t, const struct blocks *all, size_t bytes,
                     enum by_reference by_reference)
{
    bool shared = true, fits = bytes + table_bytes(t->size) <= TEAM_CELL;
    if (bytes < BY_REFERENCE_MIN || (by_reference == BY_REFERENCE_LONG && fits))
        return false;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = bytes_of(block_of(all, r));
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
    if (bytes + table_bytes(t->size) <= SLOT_ROOM)
        return SLOT_INLINE;
    if (may_stay(t, all, bytes, by_reference))
        return SLOT_REFERENCE;
    return bytes + table_bytes(t->size) <= TEAM_CELL ? SLOT_BUFFERED : SLOT_PIPELINED;
}

/* Small blocks never keep the root of a scatter, however many there are (H15): a block of memory
 * for all of them. NULL: no need, or no room. */
static char *hold(struct team *t, uint32_t op, enum slot_kind kind, size_t bytes, size_t largest,
                  enum by_reference by_reference)
{
    bool keeps = kind == SLOT_REFERENCE || kind == SLOT_PIPELINED;
    if (!keeps || by_reference != BY_REFERENCE_LONG || largest > EAGER_MAX || bytes > HOLD_MAX)
        return NULL;
    return team_hold(t, op, bytes);
}

/* Returns how: SLOT_REFERENCE and SLOT_PIPELINED keep us. */
static enum slot_kind publish_blocks(struct team *t, uint32_t op, const struct blocks *all,
                                     enum by_reference by_reference)
{
    size_t bytes = 0, largest = 0, at = 0;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = bytes_of(block_of(all, r));
        bytes += some;
        largest = some > largest ? some : largest;
    }
    enum slot_kind kind = choose(t, all, bytes, by_reference);
    team_wait_room(t, kind);
    char *held = hold(t, op, kind, bytes, largest, by_reference),
         *table = table_of(t->mine, op, t->size);
    char *to = held ? held : behind_table(t->mine, op, t->size, kind);
    uint32_t stream = stream_start(t);
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = partner(t, i);
        struct buffer block = block_of(all, r);
        struct block_desc block_desc = {.bytes = bytes_of(block)};
        if (kind == SLOT_REFERENCE && !held) {
            block_desc.where = block_desc.bytes ? team_address(t, block, block_desc.bytes) : 0;
        } else if (kind == SLOT_PIPELINED && !held) {
            block_desc.where = stream;
            stream += stream_pieces(block_desc.bytes);
        } else {
            block_desc.where = held ? (remote_addr_t)(held + at - node.base) << 1 : at;
            team_fill(t, to + at, block, 0, block_desc.bytes);
            at += block_desc.bytes;
        }
        memcpy(table + r * sizeof block_desc, &block_desc, sizeof block_desc);
    }
    team_publish(t, op, held ? SLOT_REFERENCE : kind, at);
    return held ? SLOT_BUFFERED : kind;
}

static struct block_desc block_desc_from(struct team *t, uint32_t rank, uint32_t op)
{
    struct block_desc block_desc;
    const char *table = table_of(t->mailbox[rank], op, t->group);
    memcpy(&block_desc, table + t->rank * sizeof block_desc, sizeof block_desc);
    return block_desc;
}

/* If it is no stream. */
static enum coll_error receive_block(struct team *t, uint32_t rank, uint32_t op,
                                     const struct slot *slot, struct buffer to)
{
    struct block_desc block_desc = block_desc_from(t, rank, op);
    if (stays(slot))
        return coll_take_place(t, rank, block_desc.where, to, block_desc.bytes);
    const char *data = behind_table(t->mailbox[rank], op, t->group, slot_kind(slot));
    return coll_take(to, 0, data + block_desc.where, block_desc.bytes);
}

static void scatter(struct team *t, uint32_t op, const struct blocks *all)
{
    enum slot_kind kind = publish_blocks(t, op, all, BY_REFERENCE_LONG);
    if (kind == SLOT_REFERENCE)
        team_wait_all(t, op);
    for (uint32_t i = 0; kind == SLOT_PIPELINED && i < t->size; i++)
        stream_give(t, block_of(all, partner(t, i)));
}

enum coll_error inter_coll_scatter(struct team *t, const struct blocks *all, struct buffer mine,
                                   uint32_t root)
{
    uint32_t op = team_begin(t);
    if (root == INTER_ROOT) {
        scatter(t, op, all);
        team_end(t);
        return COLL_OK;
    }
    const struct slot *slot = team_wait_stream(t, root, op);
    enum coll_error error;
    bool bound = stays(slot);
    if (streams(slot))
        error = stream_take(t, block_stream(t, root, block_desc_from(t, root, op), mine));
    else
        error = receive_block(t, root, op, slot, mine);
    end(t, bound);
    return error;
}

enum coll_error inter_coll_alltoall(struct team *t, const struct blocks *to,
                                    const struct blocks *from)
{
    enum coll_error error = COLL_OK;
    uint32_t op = team_begin(t);
    enum slot_kind kind = publish_blocks(t, op, to, BY_REFERENCE);
    bool bound = false, streaming = kind == SLOT_PIPELINED;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = partner(t, i);
        const struct slot *slot = team_wait(t, r, op);
        bound |= stays(slot);
        streaming |= streams(slot);
        if (!streams(slot))
            error |= receive_block(t, r, op, slot, block_of(from, r));
    }
    team_note_all_done(t, op - 1);
    for (uint32_t i = 0; streaming && i < t->size; i++) {
        uint32_t r = partner(t, i);
        struct stream in = stream_none(t), out = stream_none(t);
        if (streams(team_wait(t, r, op)))
            in = block_stream(t, r, block_desc_from(t, r, op), block_of(from, r));
        if (kind == SLOT_PIPELINED)
            out = stream_out(t, block_of(to, r), stream_start(t));
        error |= stream_run(&out, &in, false);
    }
    team_end_by_reference(t, op, bound, kind == SLOT_REFERENCE);
    return error;
}

/* ---- reductions ---- */

/* Parts of operands that are fetched to be combined. */
enum { PART = STREAM_CELLS / 2 * STREAM_CELL };

/* What we combine of the other group's operands, which their posts of operation `op` have. */
struct work {
    struct team *t;
    const struct reducer *red;
    uint32_t op;
    size_t first, bytes; /* of each */
    struct buffer to;
    char *sum, *room; /* of `part` bytes each */
    size_t part;
    bool streaming; /* some operand is a stream: then a part is all */
    enum coll_error error;
};

static size_t total(const struct reducer *red, struct buffer b)
{
    return red->element * reducer_elements(red, b);
}

/* Rank r's operand, fetched to `room` if need be. */
static const char *operand(struct work *w, uint32_t r, size_t at, size_t bytes, char *room)
{
    struct team *t = w->t;
    const struct slot *slot = team_wait(t, r, w->op);
    if (streams(slot)) {
        struct run run;
        struct typemap image = typemap_of_bytes(&run, bytes);
        w->error |= take_stream(t, r, slot, (struct buffer){room, &image, 1});
        return room;
    }
    if (!stays(slot))
        return slot_data(t, r, w->op, slot) + w->first + at;
    remote_addr_t place = slot_address(slot);
    if (remote_addr_local(place))
        return remote_addr_local(place) + w->first + at;
    if (!remote_read(t, r, place, w->first + at, room, bytes))
        w->error |= COLL_UNREACHABLE;
    return room;
}

static void combine_part(struct work *w, size_t at, size_t bytes, char *out)
{
    const char *sum = operand(w, 0, at, bytes, out);
    if (w->t->size == 1 && sum != out)
        copy_bytes(out, sum, bytes);
    for (uint32_t r = 1; r < w->t->size; r++) {
        reducer_combine(w->red, out, sum, operand(w, r, at, bytes, w->room), bytes);
        sum = out;
    }
}

/* Nobody may be left with a stream that is not taken. */
static void drain(struct work *w)
{
    struct run run;
    struct typemap image = typemap_of_bytes(&run, 1);
    for (uint32_t r = 0; r < w->t->size; r++) {
        const struct slot *slot = team_wait(w->t, r, w->op);
        if (streams(slot))
            take_stream(w->t, r, slot, (struct buffer){NULL, &image, 0});
    }
}

/* An operation of the user's gets all elements in one call. */
static enum coll_error combine(struct work *w)
{
    bool plain = reducer_is_plain(w->red), straight = plain && !w->to.map->without_holes;
    bool in_one = !plain || w->streaming || (straight && w->t->size == 1);
    char *more = NULL;
    if (w->red->starved) {
        drain(w);
        return COLL_NO_MEMORY;
    }
    w->part = in_one ? w->bytes : PART / w->red->element * w->red->element;
    w->sum = stream_cell(w->t->mine, 0);
    w->room = w->sum + PART;
    if (w->part > PART && !(straight && w->t->size == 1)) {
        if (!(more = malloc(2 * w->part))) {
            drain(w);
            return COLL_NO_MEMORY;
        }
        w->sum = more;
        w->room = more + w->part;
    }
    for (size_t at = 0; at < w->bytes; at += w->part) {
        size_t bytes = min_size(w->part, w->bytes - at);
        char *out = straight ? w->to.at + at : w->sum;
        combine_part(w, at, bytes, out);
        if (!straight)
            reducer_write(w->red, w->to, at, out, bytes);
    }
    free(more);
    return w->error;
}

/* Our operand as one that is moved; `image` is for it. */
static struct buffer operand_to_move(const struct reducer *red, struct buffer from, size_t bytes,
                                     struct run *run, struct typemap *image)
{
    if (!reducer_is_plain(red))
        return from;
    *image = typemap_of_bytes(run, bytes);
    return (struct buffer){from.at, image, 1};
}

enum coll_error inter_coll_reduce(struct team *t, const struct reducer *red, struct buffer from,
                                  struct buffer to, uint32_t root)
{
    struct run run;
    struct typemap image;
    size_t bytes = total(red, from);
    uint32_t op = team_begin(t);
    bool bound = false;
    struct work w = {.t = t, .red = red, .op = op, .bytes = bytes, .to = to};
    if (bytes && root != INTER_ROOT)
        send_to_root(t, op, operand_to_move(red, from, bytes, &run, &image), root);
    if (bytes && root == INTER_ROOT) {
        for (uint32_t r = 0; r < t->size; r++) {
            const struct slot *slot = team_wait_stream(t, r, op);
            bound |= stays(slot);
            w.streaming |= streams(slot);
        }
        w.error = combine(&w);
    }
    end(t, bound);
    return w.error;
}

/* Operands by_reference where they are, or are copied into a block of memory. Who has none says so;
 * after the second operation all ranks of both groups know whether one has. */
static enum coll_error combine_long(struct work *w, struct buffer from, size_t bytes)
{
    struct run run;
    struct typemap image;
    struct team *t = w->t;
    uint32_t verdict = w->op + 1;
    remote_addr_t place =
        team_address(t, operand_to_move(w->red, from, bytes, &run, &image), bytes);
    bool binds, good = true;
    char *block = place || w->red->starved ? NULL : team_hold(t, verdict, bytes);
    if (w->red->starved)
        place = 0;
    if (block) {
        reducer_read(w->red, block, from, 0, bytes);
        place = (remote_addr_t)(block - node.base) << 1;
    }
    binds = place && !block;
    team_wait_room(t, SLOT_INLINE);
    memcpy(slot_of(t->mine, w->op)->data, &place, sizeof place);
    team_publish(t, w->op, SLOT_REFERENCE, bytes);
    for (uint32_t r = 0; r < t->size; r++)
        good &= slot_address(team_wait(t, r, w->op)) != 0;
    team_note_all_done(t, w->op - 1);
    team_begin(t);
    team_publish_inline(t, verdict, &good, sizeof good);
    for (uint32_t r = 0; r < t->size; r++) {
        bool theirs;
        memcpy(&theirs, team_wait(t, r, verdict)->data, sizeof theirs);
        good &= theirs;
    }
    enum coll_error error = good ? combine(w) : COLL_LEFT;
    team_done(t, verdict);
    if (binds)
        team_wait_all(t, verdict);
    return error;
}

/* For all ranks, of each some. */
static enum coll_error reduce_for_all(struct work *w, struct buffer from)
{
    struct run run;
    struct typemap image;
    struct team *t = w->t;
    size_t bytes = total(w->red, from);
    bool bound = false;
    w->op = team_begin(t);
    if (bytes > TEAM_CELL)
        return combine_long(w, from, bytes);
    struct buffer mine = operand_to_move(w->red, from, bytes, &run, &image);
    enum slot_kind kind = team_publish_data(t, w->op, mine, BY_REFERENCE_OPERANDS, 0);
    for (uint32_t r = 0; r < t->size; r++)
        bound |= stays(team_wait(t, r, w->op));
    team_note_all_done(t, w->op - 1);
    enum coll_error error = combine(w);
    team_end_by_reference(t, w->op, bound, kind == SLOT_REFERENCE);
    return error;
}

enum coll_error inter_coll_allreduce(struct team *t, const struct reducer *red, struct buffer from,
                                     struct buffer to)
{
    struct work w = {.t = t, .red = red, .bytes = total(red, from), .to = to};
    return reduce_for_all(&w, from);
}

enum coll_error inter_coll_reduce_scatter(struct team *t, const struct reducer *red,
                                          struct buffer from, struct buffer to,
                                          const struct blocks *shares)
{
    struct work w = {.t = t, .red = red, .to = to};
    for (uint32_t r = 0; r < t->rank; r++)
        w.first += total(red, block_of(shares, r));
    w.bytes = total(red, block_of(shares, t->rank));
    return reduce_for_all(&w, from);
}
