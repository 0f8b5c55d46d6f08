#include "coll_inplace/reduce_unsegmented.h"

#include "coll_inplace/receive.h"
#include "coll_inplace/stream.h"

#include <assert.h>
#include <stdlib.h>

/* Published by a rank that keeps its operand where it is; no other rank reads from there. */
enum { ONLY_READ_BY_OWNER = 1 };

/* How much is combined at a time if operands need not be combined in one call. */
enum { STEP = STREAM_CELLS / 2 * STREAM_CELL };

struct unsegmented {
    struct team *t;
    const struct reducer *red;
    uint32_t op; /* the operands are in the slots of this operation */
    struct part part;
    struct buffer to;
    bool direct;      /* results are combined in `to` */
    size_t step;      /* bytes that are combined at a time */
    char *sum, *room; /* of `step` bytes each: for results and for an operand that is fetched;
                         `apply` alternates between them */
    char *allocated;
    enum coll_error error;
};

/* Choose the step and provide the room; false: no memory. A step includes all elements if the
 * operation is user-defined or an operand comes through a stream. */
static bool prepare_unsegmented(struct unsegmented *w, bool streaming)
{
    bool plain = reducer_is_plain(w->red);
    w->direct = plain && !w->to.map->without_holes;
    bool fetch_only = w->direct && w->part.count == 1;
    w->step = !plain || streaming || fetch_only ? w->part.bytes
                                                : STEP / w->red->element * w->red->element;
    w->sum = stream_borrow(w->t);
    w->room = w->sum + STEP;
    if (w->red->starved)
        return false;
    if (!w->part.count || w->step <= STEP || fetch_only)
        return true;
    size_t room = round_up(w->step, LINE); /* both are aligned like the program's operands */
    w->allocated = malloc(room + w->step);
    w->sum = w->allocated;
    w->room = w->allocated + room;
    return w->allocated;
}

/* Returns bytes [at, at + bytes) of our part of rank r's operand, fetched to `room` if necessary.
 */
static const char *unsegmented_operand(struct unsegmented *w, uint32_t r, size_t at, size_t bytes,
                                       char *room)
{
    struct team *t = w->t;
    const struct slot *slot = team_wait(t, r, w->op);
    if (slot_kind(slot) == SLOT_PIPELINED) {
        struct run run;
        struct typemap map = typemap_of_bytes(&run, bytes);
        struct buffer to = {room, &map, 1};
        w->error |=
            stream_receive(t, stream_in(t, r, to, slot_bytes(slot), slot_stream_start(slot)));
        return room;
    }
    remote_addr_t address = slot_address(slot);
    if (remote_addr_local(address))
        return remote_addr_local(address) + w->part.first + at;
    if (!remote_read(t, r, address, w->part.first + at, room, bytes))
        w->error |= COLL_UNREACHABLE;
    return room;
}

/* Combine by `apply` in the room that does not contain `sum`, and return that room. The right
 * operand is copied there first, because `apply` replaces it by the result. */
static const char *combine_copy(struct unsegmented *w, const char *sum, const char *next,
                                size_t bytes)
{
    char *room = sum == w->room ? w->sum : w->room;
    if (next != room)
        copy_bytes(room, next, bytes);
    reducer_combine(w->red, room, sum, room, bytes);
    return room;
}

static void combine_operands_of(struct unsegmented *w)
{
    bool plain = reducer_is_plain(w->red);
    for (size_t at = 0; at < w->part.bytes; at += w->step) {
        size_t bytes = min_size(w->step, w->part.bytes - at);
        char *out = w->direct ? w->to.at + at : w->sum;
        const char *sum = unsegmented_operand(w, 0, at, bytes, out);
        for (uint32_t r = 1; r < w->part.count; r++) {
            const char *next =
                unsegmented_operand(w, r, at, bytes, sum == w->room ? w->sum : w->room);
            if (plain)
                reducer_combine(w->red, out, sum, next, bytes);
            sum = plain ? out : combine_copy(w, sum, next, bytes);
        }
        if (!w->direct)
            reducer_write(w->red, w->to, at, sum, bytes);
        else if (sum != out)
            copy_bytes(out, sum, bytes);
    }
}

/* ---- MPI_Reduce, MPI_Allreduce and MPI_Reduce_scatter of user-defined operations ---- */

/* Whether our operand need not be copied: it is a left operand of the tree, which only its own rank
 * reads, and is contiguous. */
static bool may_stay(struct team *t, const struct reducer *red)
{
    return t->rank % 2 == 0 && t->rank + 1 < t->size && !red->starved && red->map->contiguous &&
           !red->map->without_holes;
}

/* Publish our operand in the slot of `op`, as a copy that is kept until all ranks are done with the
 * operation `last`. With `uncopied`, publish only that no other rank reads our operand. Returns
 * whether all ranks had memory. `unit`: the length of an element, or 0 if operands are not divided;
 * `*divide`: all ranks divide theirs, and have the same unit. */
static bool share_copies(struct team *t, const struct reducer *red, struct buffer from, uint32_t op,
                         uint32_t last, const char *uncopied, size_t unit, bool *divide)
{
    size_t bytes = reducer_bytes(red, from);
    char *block = red->starved || uncopied ? NULL : team_hold(t, last, bytes);
    if (block)
        reducer_read(red, block, from, 0, bytes);
    team_publish_address(t, op,
                         block      ? remote_addr_of(block)
                         : uncopied ? ONLY_READ_BY_OWNER
                                    : 0,
                         unit);
    bool all = true;
    *divide = unit;
    for (uint32_t r = 0; r < t->size; r++) {
        const struct slot *slot = team_wait(t, r, op);
        all &= slot_address(slot) != 0;
        *divide &= slot_bytes(slot) == unit;
    }
    team_note_all_done(t, op - 1);
    return all;
}

static char *operand_block(struct team *t, uint32_t rank, uint32_t op)
{
    return remote_addr_local(slot_address(team_wait(t, rank, op)));
}

/* Combine our share of all operands, grouped as in combine_subtree(). No other rank accesses this
 * share. The result is in the last rank's block. */
static void combine_share(struct team *t, const struct reducer *red, uint32_t op, size_t first,
                          size_t bytes)
{
    assert(t->size > 1);
    for (uint32_t step = 1; step < t->size; step *= 2)
        for (uint32_t r = step; r < t->size; r += 2 * step) {
            uint32_t last = r + step < t->size ? r + step - 1 : t->size - 1;
            char *left = operand_block(t, r - 1, op) + first,
                 *right = operand_block(t, last, op) + first;
            reducer_combine(red, right, left, right, bytes);
        }
}

/* Combine our operand `sum` and the results of our children in the tree. Returns where the result
 * is. */
static const char *combine_subtree(struct team *t, const struct reducer *red, uint32_t op,
                                   const char *sum, size_t bytes)
{
    for (uint32_t step = 1; t->rank % (2 * step) == 0 && t->rank + step < t->size; step *= 2) {
        char *next = operand_block(t, t->rank + step, op + 1);
        reducer_combine(red, next, sum, next, bytes);
        sum = next;
    }
    return sum;
}

enum coll_error unsegmented_reduce(struct team *t, const struct reducer *red, struct buffer from,
                                   struct buffer to, uint32_t root)
{
    size_t bytes = reducer_bytes(red, from);
    uint32_t op = team_begin(t);
    bool for_all = root == REDUCE_FOR_ALL, receives = for_all || t->rank == root, divide;
    size_t elements = reducer_elements(red, from);
    size_t unit = red->divides && for_all && elements >= t->size ? red->element : 0;
    const char *uncopied = !unit && may_stay(t, red) ? from.at : NULL;
    bool all = share_copies(t, red, from, op, op + 1, uncopied, unit, &divide);
    uint32_t results = team_begin(t);
    const char *sum = NULL;
    if (all && divide) {
        size_t first = elements * t->rank / t->size * unit;
        size_t end = elements * (t->rank + 1) / t->size * unit;
        combine_share(t, red, op, first, end - first);
        team_publish_inline(t, results, "", 0);
        for (uint32_t r = 0; r < t->size; r++)
            team_wait(t, r, results);
        sum = operand_block(t, t->size - 1, op);
    } else if (all) {
        sum =
            combine_subtree(t, red, op, uncopied ? uncopied : operand_block(t, t->rank, op), bytes);
        team_publish_address(t, results, remote_addr_of(sum), bytes);
        if (receives)
            sum = operand_block(t, 0, results);
    }
    if (all && receives)
        reducer_write(red, to, 0, sum, bytes);
    team_done(t, results);
    return all ? COLL_OK : COLL_LEFT;
}

enum coll_error unsegmented_reduce_scatter(struct team *t, const struct reducer *red,
                                           struct buffer from, struct buffer to, size_t first,
                                           size_t bytes)
{
    uint32_t op = team_begin(t);
    bool divide, all = share_copies(t, red, from, op, op, NULL, 0, &divide);
    if (all && bytes) {
        combine_share(t, red, op, first, bytes);
        reducer_write(red, to, 0, operand_block(t, t->size - 1, op) + first, bytes);
    }
    team_done(t, op);
    return all ? COLL_OK : COLL_LEFT;
}

/* ---- parts of the result ---- */

/* Returns the address of our operand; 0: no memory. `*by_reference`: it is the program's buffer.
 * The copy is kept until all ranks are done with the last operation of the call. */
static remote_addr_t share_operand(struct unsegmented *w, struct buffer from, bool *by_reference)
{
    struct run run;
    struct typemap map;
    bool inter = team_is_inter(w->t);
    size_t bytes = reducer_bytes(w->red, from);
    struct buffer data = reducer_data(w->red, from, bytes, &run, &map);
    remote_addr_t address = inter ? remote_addr_to_read(w->t, data, bytes) : 0;
    *by_reference = address;
    if (address)
        return address;
    char *block = team_hold(w->t, w->op + inter, bytes);
    if (!block)
        return 0;
    reducer_read(w->red, block, from, 0, bytes);
    return remote_addr_of(block);
}

/* Whether all ranks of both groups have published `good`. */
static bool both_groups_agree(struct team *t, bool good)
{
    uint32_t op = team_begin(t);
    team_publish_inline(t, op, &good, sizeof good);
    for (uint32_t r = 0; r < t->size; r++) {
        bool theirs;
        memcpy(&theirs, team_wait(t, r, op)->data, sizeof theirs);
        good &= theirs;
    }
    return good;
}

enum coll_error unsegmented_reduce_part(struct team *t, const struct reducer *red,
                                        struct buffer from, struct buffer to, struct part part)
{
    struct unsegmented w = {.t = t, .red = red, .op = team_begin(t), .part = part, .to = to};
    bool by_reference = false, good = prepare_unsegmented(&w, false);
    remote_addr_t address = good ? share_operand(&w, from, &by_reference) : 0;
    team_publish_address(t, w.op, address, reducer_bytes(red, from));
    good = address;
    for (uint32_t r = 0; r < t->size; r++)
        good &= slot_address(team_wait(t, r, w.op)) != 0;
    team_note_all_done(t, w.op - 1);
    if (team_is_inter(t))
        good = both_groups_agree(t, good);
    if (good && part.count)
        combine_operands_of(&w);
    team_done(t, t->op);
    if (by_reference)
        team_await_readers(t, t->op);
    free(w.allocated);
    return good ? w.error : COLL_LEFT;
}

/* ---- for the root of an intercommunicator ---- */

static void send_operand_to_root(struct team *t, const struct reducer *red, uint32_t op,
                                 struct buffer from, uint32_t root)
{
    struct run run;
    struct typemap map;
    struct buffer data = reducer_data(red, from, reducer_bytes(red, from), &run, &map);
    enum slot_kind kind = team_publish_data(t, op, data, BY_REFERENCE_LONG);
    if (kind == SLOT_REFERENCE)
        team_await_reader(t, root, op);
    else
        stream_send(t, data);
}

/* Receive the streams of all ranks and discard them: their senders wait for that. */
static void drain(struct unsegmented *w)
{
    struct run run;
    struct typemap map = typemap_of_bytes(&run, 1);
    struct buffer nothing = {NULL, &map, 0};
    struct team *t = w->t;
    for (uint32_t r = 0; r < t->size; r++) {
        const struct slot *slot = team_wait(t, r, w->op);
        if (slot_kind(slot) == SLOT_PIPELINED)
            stream_receive(t, stream_in(t, r, nothing, slot_bytes(slot), slot_stream_start(slot)));
    }
}

enum coll_error unsegmented_reduce_for_root(struct team *t, const struct reducer *red,
                                            struct buffer from, struct buffer to, uint32_t root)
{
    struct part part = {t->size, 0, reducer_bytes(red, from)};
    struct unsegmented w = {.t = t, .red = red, .op = team_begin(t), .part = part, .to = to};
    if (t->self != root) {
        send_operand_to_root(t, red, w.op, from, root);
        team_end(t);
        return COLL_OK;
    }
    bool reads = false, streaming = false;
    for (uint32_t r = 0; r < t->size; r++) {
        const struct slot *slot = team_wait_ahead(t, r, w.op);
        reads |= slot_kind(slot) == SLOT_REFERENCE;
        streaming |= slot_kind(slot) == SLOT_PIPELINED;
    }
    if (prepare_unsegmented(&w, streaming)) {
        combine_operands_of(&w);
    } else {
        drain(&w);
        w.error = COLL_NO_MEMORY;
    }
    free(w.allocated);
    team_end_by_reference(t, w.op, reads, false);
    return w.error;
}
