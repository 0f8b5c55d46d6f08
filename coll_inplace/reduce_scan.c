/* MPI_Reduce, MPI_Allreduce, MPI_Reduce_scatter, MPI_Scan and MPI_Exscan. This file chooses the
 * algorithm of all reductions, and contains those for data that fit into a cell and are not divided
 * into segments. The others are in reduce_segmented.c and, for user-defined operations and
 * intercommunicators, in reduce_unsegmented.c.
 *
 * Each rank sends its operand in its slot. In a small team, each rank that receives a result
 * combines all operands in rank order. In a larger one, operands are combined up a tree whose
 * subtrees are ranges of ranks, so the order is still the rank order. Rank 0 publishes the
 * result. */
#include "coll_inplace/receive.h"
#include "coll_inplace/reduce_segmented.h"
#include "coll_inplace/reduce_unsegmented.h"
#include "coll_inplace/stream.h"

/* ---- small teams ---- */

static enum slot_kind publish_operand(struct team *t, const struct reducer *red, uint32_t op,
                                      struct buffer from, size_t bytes,
                                      enum by_reference by_reference)
{
    if (LIKELY(reducer_is_plain(red)) && LIKELY(fits_into_slot(bytes))) {
        team_publish_inline(t, op, from.at, bytes);
        return SLOT_INLINE;
    }
    struct run run;
    struct typemap map;
    return team_publish_data(t, op, reducer_data(red, from, bytes, &run, &map), by_reference);
}

/* The arguments of combine_operands(). */
struct operands {
    uint32_t op, count; /* in the slots of ranks 0 .. count - 1 */
    size_t at, bytes;   /* part of each */
    const char *own;    /* our operand if it is combined where it is; NULL: it is in our slot */
    const char *next;   /* where our next operand of the same length will be written, or NULL */
    bool ahead;         /* the other ranks may run ahead of us */
    bool by_reference;  /* some operand is read by reference */
    enum coll_error error;
};

static const char *own_operand(const struct reducer *red, struct buffer from)
{
    return reducer_is_plain(red) ? from.at : NULL;
}

/* Data that fit into a cell are sent by reference only if they are in the shared heap. */
static const char *short_operand(struct team *t, uint32_t rank, struct operands *o)
{
    if (rank == t->self && o->own)
        return o->own + o->at;
    const struct slot *slot =
        o->ahead ? team_wait_ahead(t, rank, o->op) : team_wait(t, rank, o->op);
    if (LIKELY(slot_kind(slot) != SLOT_REFERENCE))
        return slot_data(t, rank, o->op, slot) + o->at;
    o->by_reference = true;
    return remote_addr_local(slot_address(slot)) + o->at;
}

/* Combine nothing; only note whether some rank waits until we are done with its operand. */
static void skip_operands(struct team *t, struct operands *o)
{
    for (uint32_t r = 0; r < o->count; r++)
        o->by_reference |= slot_kind(team_wait(t, r, o->op)) == SLOT_REFERENCE;
}

static void combine_operands(struct team *t, const struct reducer *red, struct operands *o,
                             struct buffer to)
{
    if (UNLIKELY(red->starved)) {
        skip_operands(t, o);
        o->error |= COLL_NO_MEMORY;
        return;
    }
    bool direct = reducer_is_plain(red) && !to.map->without_holes;
    char *space = direct && o->count <= 2 ? NULL : stream_borrow(t);
    char *out = direct ? to.at : space;
    const char *sum = short_operand(t, 0, o);
    if (o->count == 1)
        copy_bytes(out, sum, o->bytes);
    for (uint32_t r = 1; r < o->count; r++) {
        /* Our own operand may be where the result goes, so the result is written last. */
        bool last = r + 1 == o->count;
        char *next = last ? out : space;
        reducer_combine_ahead(red, next, sum, short_operand(t, r, o), o->bytes,
                              last ? o->next : NULL);
        sum = next;
    }
    if (!direct)
        reducer_write(red, to, 0, out, o->bytes);
}

void coll_allreduce_few(struct team *t, combine_fn *kernel, const char *from, char *to,
                        size_t elements, size_t bytes)
{
    _Alignas(16) char sums[COLL_FEW];
    uint32_t op = team_begin(t);
    team_publish_inline(t, op, from, bytes);
    const char *sum = t->rank == 0 ? from : team_wait(t, 0, op)->data;
    for (uint32_t r = 1; r < t->size; r++) {
        const char *next = r == t->rank ? from : team_wait(t, r, op)->data;
        /* Our own operand may be where the result goes, so the result is written last. */
        char *out = r + 1 == t->size ? to : sums;
        kernel(out, sum, next, elements, NULL);
        sum = out;
    }
    team_note_all_done(t, op - 1);
    team_end(t);
}

static enum coll_error allreduce_flat(struct team *t, const struct reducer *red, struct buffer from,
                                      struct buffer to, size_t bytes)
{
    struct operands o = {
        .op = team_begin(t), .count = t->size, .bytes = bytes, .own = own_operand(red, from)};
    enum slot_kind kind = publish_operand(
        t, red, o.op, from, bytes, from.at != to.at ? BY_REFERENCE_OPERANDS : BY_REFERENCE_NEVER);
    o.next = kind == SLOT_BUFFERED && !team_uses_nontemporal(t, bytes)
                 ? cell_for(t->own_ring, o.op + 1, bytes, 0)
                 : NULL;
    combine_operands(t, red, &o, to);
    team_note_all_done(t, o.op - 1);
    team_end_by_reference(t, o.op, o.by_reference, kind == SLOT_REFERENCE);
    return o.error;
}

static enum coll_error reduce_flat(struct team *t, const struct reducer *red, struct buffer from,
                                   struct buffer to, uint32_t root, size_t bytes)
{
    struct operands o = {.op = team_begin(t),
                         .count = t->size,
                         .bytes = bytes,
                         .own = own_operand(red, from),
                         .ahead = true};
    enum slot_kind kind = SLOT_INLINE;
    if (t->self != root)
        kind = publish_operand(t, red, o.op, from, bytes, BY_REFERENCE_LONG);
    else if (!o.own && !team_is_inter(t))
        publish_operand(t, red, o.op, from, bytes, BY_REFERENCE_NEVER);
    if (t->self == root)
        combine_operands(t, red, &o, to);
    if (o.by_reference)
        team_done(t, o.op);
    if (kind == SLOT_REFERENCE)
        team_await_reader(t, root, o.op);
    team_end(t);
    return o.error;
}

/* ---- larger teams ---- */

/* Combine the partial result of a child. False: some rank below it had no memory to combine. */
static bool combine_child(struct team *t, const struct reducer *red, uint32_t op, uint32_t rank,
                          char *sum, size_t bytes)
{
    const struct slot *slot = team_wait(t, rank, op);
    if (UNLIKELY(red->starved || !slot_bytes(slot)))
        return false;
    reducer_combine(red, sum, sum, slot_data(t, rank, op, slot), bytes);
    return true;
}

/* Combine the partial results of the children in rank order. */
static bool combine_children(struct team *t, const struct reducer *red, uint32_t op, char *sum,
                             size_t bytes)
{
    uint32_t v = t->rank;
    bool all = true;
    for (uint32_t step = 1; step < t->size && v % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && v + j * step < t->size; j++)
            all &= combine_child(t, red, op, v + j * step, sum, bytes);
    return all;
}

/* Combine operands up the tree; the result is in the slot of rank 0. A rank that has no memory to
 * combine, or that has a child without it, publishes an empty slot. Returns the operation. */
static uint32_t combine_up(struct team *t, const struct reducer *red, struct buffer from,
                           size_t bytes)
{
    uint32_t op = team_begin(t);
    enum slot_kind kind = transport_of_copy(bytes);
    team_wait_room(t, kind, bytes);
    char *sum = kind == SLOT_INLINE ? slot_of(t->own_ring, op)->data : team_cell(t, bytes);
    reducer_read(red, sum, from, 0, bytes);
    team_publish(t, op, kind, combine_children(t, red, op, sum, bytes) ? bytes : 0);
    return op;
}

static enum coll_error write_slot_result(struct team *t, const struct reducer *red,
                                         struct buffer to, uint32_t op, const struct slot *slot)
{
    if (UNLIKELY(!slot_bytes(slot)))
        return COLL_NO_MEMORY;
    reducer_write(red, to, 0, slot_data(t, 0, op, slot), slot_bytes(slot));
    return COLL_OK;
}

static enum coll_error reduce_tree(struct team *t, const struct reducer *red, struct buffer from,
                                   struct buffer to, uint32_t root, size_t bytes)
{
    enum coll_error error = COLL_OK;
    uint32_t op = combine_up(t, red, from, bytes);
    if (t->rank == root)
        error = write_slot_result(t, red, to, op, team_wait(t, 0, op));
    team_end(t);
    return error;
}

/* Combine operands up the tree, and send the result down again. */
static enum coll_error allreduce_tree(struct team *t, const struct reducer *red, struct buffer from,
                                      struct buffer to, size_t bytes)
{
    uint32_t up = combine_up(t, red, from, bytes), down = team_begin(t);
    enum coll_error error;
    if (t->rank == 0) {
        error = write_slot_result(t, red, to, up, slot_of(t->own_ring, up));
        if (LIKELY(error == COLL_OK))
            publish_operand(t, red, down, to, bytes, BY_REFERENCE_NEVER);
        else
            team_publish_inline(t, down, "", 0);
    } else {
        error = write_slot_result(t, red, to, down, wait_for_root(t, down, 0));
    }
    team_note_all_done(t, up - 1);
    team_end(t);
    return error;
}

/* ---- the calls ---- */

/* The result of a communicator of one rank is its operand. */
static enum coll_error alone(struct buffer from, struct buffer to)
{
    return from.at == to.at ? COLL_OK : copy_own(to, from, 2);
}

/* End a call in which there is nothing to combine. All ranks detect that, except ranks of an
 * intercommunicator that passed MPI_PROC_NULL. */
static enum coll_error nothing(struct team *t)
{
    if (team_is_inter(t))
        coll_pass(t);
    return COLL_OK;
}

enum coll_error coll_reduce(struct team *t, const struct reducer *red, struct buffer from,
                            struct buffer to, uint32_t root)
{
    size_t bytes = reducer_bytes(red, from);
    if (t->alone)
        return alone(from, to);
    if (UNLIKELY(!fits_into_cell(bytes))) {
        if (team_is_inter(t))
            return unsegmented_reduce_for_root(t, red, from, to, root);
        if (reducer_is_plain(red))
            return segmented_reduce(t, red, from, to, root);
        return unsegmented_reduce(t, red, from, to, root);
    }
    if (!bytes)
        return nothing(t);
    if (t->flat)
        return reduce_flat(t, red, from, to, root, bytes);
    if (transport_segments(t->size, bytes) && reducer_is_plain(red))
        return segmented_reduce(t, red, from, to, root);
    return reduce_tree(t, red, from, to, root, bytes);
}

enum coll_error coll_allreduce(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to)
{
    size_t bytes = reducer_bytes(red, from);
    if (t->alone)
        return alone(from, to);
    if (UNLIKELY(!fits_into_cell(bytes))) {
        if (team_is_inter(t))
            return unsegmented_reduce_part(t, red, from, to, (struct part){t->size, 0, bytes});
        if (reducer_is_plain(red))
            return segmented_reduce(t, red, from, to, REDUCE_FOR_ALL);
        return unsegmented_reduce(t, red, from, to, REDUCE_FOR_ALL);
    }
    if (!bytes)
        return nothing(t);
    if (t->flat)
        return allreduce_flat(t, red, from, to, bytes);
    if (transport_segments(t->size, bytes) && reducer_is_plain(red))
        return segmented_reduce(t, red, from, to, REDUCE_FOR_ALL);
    return allreduce_tree(t, red, from, to, bytes);
}

enum coll_error coll_reduce_scatter(struct team *t, const struct reducer *red, struct buffer from,
                                    struct buffer to, const struct blocks *shares)
{
    size_t *begin = team_table(t, TABLE_SEGMENTS);
    begin[0] = 0;
    for (uint32_t r = 0; r < t->group; r++)
        begin[r + 1] = begin[r] + reducer_bytes(red, block_of(shares, r));
    size_t bytes = begin[t->group], own = begin[t->rank + 1] - begin[t->rank], other = bytes - own;
    bool inter = team_is_inter(t), plain = reducer_is_plain(red);
    if (t->alone)
        return alone(from, to);
    bool two = t->size == 2 && plain && !inter; /* each sends only what the other one needs */
    size_t most = !two ? bytes : own > other ? own : other;
    if (!fits_into_cell(most) && plain && !inter)
        return segmented_reduce_scatter(t, red, from, to, begin, false);
    if (!fits_into_cell(most) && !inter)
        return unsegmented_reduce_scatter(t, red, from, to, begin[t->rank], own);
    if (!fits_into_cell(most))
        return unsegmented_reduce_part(t, red, from, to,
                                       (struct part){t->size, begin[t->rank], own});
    if (!bytes)
        return nothing(t);
    enum by_reference by_reference = from.at != to.at ? BY_REFERENCE_OPERANDS : BY_REFERENCE_NEVER;
    struct operands o = {.op = team_begin(t),
                         .count = t->size,
                         .at = begin[t->rank],
                         .bytes = own,
                         .own = own_operand(red, from)};
    if (two) {
        o.at = 0;
        o.own += begin[t->rank];
        from.at += begin[1 - t->rank];
    }
    enum slot_kind kind = publish_operand(t, red, o.op, from, two ? other : bytes, by_reference);
    if (own)
        combine_operands(t, red, &o, to);
    else
        skip_operands(t, &o);
    team_end_by_reference(t, o.op, o.by_reference, kind == SLOT_REFERENCE);
    return o.error;
}

/* Each rank combines the operands of the ranks before it, and its own unless `exclusive`. */
enum coll_error coll_scan(struct team *t, const struct reducer *red, struct buffer from,
                          struct buffer to, bool exclusive)
{
    size_t bytes = reducer_bytes(red, from);
    uint32_t count = t->rank + !exclusive;
    if (t->alone)
        return exclusive ? COLL_OK : alone(from, to);
    if (!fits_into_cell(bytes) && reducer_is_plain(red))
        return segmented_scan(t, red, from, to, exclusive);
    if (!fits_into_cell(bytes))
        return unsegmented_reduce_part(t, red, from, to, (struct part){count, 0, bytes});
    if (!bytes)
        return COLL_OK;
    struct operands o = {.op = team_begin(t),
                         .count = count,
                         .bytes = bytes,
                         .own = own_operand(red, from),
                         .ahead = true};
    if (t->rank + 1 < t->size || !o.own)
        publish_operand(t, red, o.op, from, bytes, BY_REFERENCE_NEVER);
    if (t->rank)
        combine_operands(t, red, &o, to);
    else if (!exclusive)
        alone(from, to);
    team_end(t);
    return o.error;
}
