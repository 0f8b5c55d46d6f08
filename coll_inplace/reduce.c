/* Reductions of what fits into a cell. Each rank posts its operand. In a team of a few, who wants
 * the result combines all of them, in rank order: one flight. In a larger one they are combined up
 * a tree whose subtrees are ranges of ranks, so the order is still that of the ranks wherever they
 * run; integers go up the tree that keeps to domains. Rank 0 posts the result. What is longer:
 * shares.c, and whole.c for operations of the user's. */
#include "coll_inplace/segmented.h"
#include "coll_inplace/user_op.h"

/* Our operand. */
static enum slot_kind post_operand(struct team *t, const struct reducer *red, uint32_t op,
                                   struct buffer from, size_t bytes, enum by_reference by_reference)
{
    if (!reducer_is_plain(red))
        return team_publish_data(t, op, from, by_reference, 0);
    if (LIKELY(bytes <= SLOT_ROOM)) {
        team_publish_inline(t, op, from.at, bytes);
        return SLOT_INLINE;
    }
    struct run run;
    struct typemap image = typemap_of_bytes(&run, bytes);
    return team_publish_data(t, op, (struct buffer){from.at, &image, 1}, by_reference, 0);
}

/* What combine_posts() combines. */
struct operands {
    uint32_t op, count; /* the posts of ranks 0 .. count - 1 */
    size_t at, bytes;   /* of each */
    const char *own;    /* ours, if it is combined where it lies; NULL: from our slot */
    const char *next;   /* where our next operand goes if it is like this one; or NULL */
    bool ahead;         /* the others may run ahead of us */
    bool bound;         /* a peer's stays where it is until we are done */
    enum coll_error error;
};

static const char *own_operand(const struct reducer *red, struct buffer from)
{
    return reducer_is_plain(red) ? from.at : NULL;
}

static const char *operand(struct team *t, uint32_t rank, struct operands *o)
{
    if (rank == t->rank && o->own)
        return o->own + o->at;
    const struct slot *slot =
        o->ahead ? team_wait_stream(t, rank, o->op) : team_wait(t, rank, o->op);
    if (LIKELY(slot_kind(slot) != SLOT_REFERENCE))
        return slot_data(t, rank, o->op, slot) + o->at;
    o->bound = true;
    return remote_addr_local(slot_address(slot)) + o->at;
}

/* Where an operand stays, its owner waits for us all the same. */
static void pass_over(struct team *t, struct operands *o)
{
    for (uint32_t r = 0; r < o->count; r++)
        o->bound |= slot_kind(team_wait(t, r, o->op)) == SLOT_REFERENCE;
}

static void combine_posts(struct team *t, const struct reducer *red, struct operands *o,
                          struct buffer to)
{
    if (UNLIKELY(red->starved)) {
        pass_over(t, o);
        o->error |= COLL_NO_MEMORY;
        return;
    }
    char *space = stream_cell(t->mine, 0);
    bool straight = reducer_is_plain(red) && !to.map->without_holes;
    char *out = straight ? to.at : space;
    const char *sum = operand(t, 0, o);
    if (o->count == 1)
        copy_bytes(out, sum, o->bytes);
    for (uint32_t r = 1; r < o->count; r++) {
        /* Ours may lie where the result goes, so that is written last. */
        bool last = r + 1 == o->count;
        char *next = last ? out : space;
        reducer_combine_ahead(red, next, sum, operand(t, r, o), o->bytes, last ? o->next : NULL);
        sum = next;
    }
    if (!straight)
        reducer_write(red, to, 0, out, o->bytes);
}

/* The end of an operation that leaves operands where they lie. */
static void leave(struct team *t, const struct operands *o, enum slot_kind mine)
{
    if (o->bound)
        team_done(t, o->op);
    if (mine == SLOT_REFERENCE)
        team_wait_all(t, o->op);
    team_end(t);
}

/* False: there is nothing, since somebody had no memory to combine it. */
static bool combine_one(struct team *t, const struct reducer *red, uint32_t op, uint32_t rank,
                        char *sum, size_t bytes)
{
    const struct slot *slot = team_wait(t, rank, op);
    if (UNLIKELY(red->starved || !slot_bytes(slot)))
        return false;
    reducer_combine(red, sum, sum, slot_data(t, rank, op, slot), bytes);
    return true;
}

static bool combine_ranges(struct team *t, const struct reducer *red, uint32_t op, char *sum,
                           size_t bytes)
{
    uint32_t v = t->rank;
    bool all = true;
    for (uint32_t step = 1; step < t->size && v % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && v + j * step < t->size; j++)
            all &= combine_one(t, red, op, v + j * step, sum, bytes);
    return all;
}

static bool combine_children(struct team *t, const struct reducer *red, uint32_t op, char *sum,
                             size_t bytes)
{
    uint16_t child[TREE_CHILDREN_MAX];
    uint32_t count = tree_children(t->order, t->rank, 0, child);
    bool all = true;
    for (uint32_t i = 0; i < count; i++)
        all &= combine_one(t, red, op, child[i], sum, bytes);
    return all;
}

/* Up the tree, to rank 0's slot. What somebody had no memory to combine is posted as nothing. */
static uint32_t combine_up(struct team *t, const struct reducer *red, struct buffer from,
                           size_t bytes)
{
    uint32_t op = team_begin(t);
    enum slot_kind kind = bytes <= SLOT_ROOM ? SLOT_INLINE : SLOT_BUFFERED;
    team_wait_room(t, kind);
    char *sum = kind == SLOT_INLINE ? slot_of(t->mine, op)->data : cell_for(t->mine, op, bytes);
    reducer_read(red, sum, from, 0, bytes);
    bool all = reducer_is_exact(red) ? combine_children(t, red, op, sum, bytes)
                                     : combine_ranges(t, red, op, sum, bytes);
    team_publish(t, op, kind, all ? bytes : 0);
    return op;
}

/* What has come of it. */
static enum coll_error write_post(struct team *t, const struct reducer *red, struct buffer to,
                                  uint32_t op, const struct slot *slot)
{
    if (UNLIKELY(!slot_bytes(slot)))
        return COLL_NO_MEMORY;
    reducer_write(red, to, 0, slot_data(t, 0, op, slot), slot_bytes(slot));
    return COLL_OK;
}

static enum coll_error reduce_some(struct team *t, const struct reducer *red, struct buffer from,
                                   struct buffer to, uint32_t root, size_t bytes)
{
    enum coll_error error = COLL_OK;
    if (t->size <= TREE_FLAT) {
        struct operands o = {.op = team_begin(t),
                             .count = t->size,
                             .bytes = bytes,
                             .own = own_operand(red, from),
                             .ahead = true};
        enum slot_kind mine = SLOT_INLINE;
        if (t->rank != root || !o.own)
            mine = post_operand(t, red, o.op, from, bytes,
                                t->rank == root ? BY_REFERENCE_NEVER : BY_REFERENCE_LONG);
        if (t->rank == root)
            combine_posts(t, red, &o, to);
        if (o.bound)
            team_done(t, o.op);
        if (mine == SLOT_REFERENCE)
            sync_wait_until(&t->mailbox[root]->done, o.op);
        error = o.error;
    } else {
        uint32_t op = combine_up(t, red, from, bytes);
        if (t->rank == root)
            error = write_post(t, red, to, op, team_wait(t, 0, op));
    }
    team_end(t);
    return error;
}

static enum coll_error allreduce_some(struct team *t, const struct reducer *red, struct buffer from,
                                      struct buffer to, size_t bytes)
{
    struct operands o = {
        .op = team_begin(t), .count = t->size, .bytes = bytes, .own = own_operand(red, from)};
    enum slot_kind mine = post_operand(
        t, red, o.op, from, bytes, from.at != to.at ? BY_REFERENCE_OPERANDS : BY_REFERENCE_NEVER);
    o.next = mine == SLOT_BUFFERED && !team_uses_nontemporal(t, bytes)
                 ? cell_for(t->mine, o.op + 1, bytes)
                 : NULL;
    combine_posts(t, red, &o, to);
    team_note_all_done(t, o.op - 1);
    leave(t, &o, mine);
    return o.error;
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
        /* Ours may lie where the result goes, so that is written last. */
        char *out = r + 1 == t->size ? to : sums;
        kernel(out, sum, next, elements, NULL);
        sum = out;
    }
    team_note_all_done(t, op - 1);
    team_end(t);
}

/* Up the tree and down again. */
static enum coll_error allreduce_many(struct team *t, const struct reducer *red, struct buffer from,
                                      struct buffer to, size_t bytes)
{
    uint32_t up = combine_up(t, red, from, bytes), down = team_begin(t);
    enum coll_error error;
    if (t->rank == 0) {
        error = write_post(t, red, to, up, slot_of(t->mine, up));
        if (LIKELY(error == COLL_OK))
            post_operand(t, red, down, to, bytes, BY_REFERENCE_NEVER);
        else
            team_publish_inline(t, down, "", 0);
    } else {
        error = write_post(t, red, to, down, tree_hear(t, down, 0));
    }
    team_note_all_done(t, up - 1);
    team_end(t);
    return error;
}

static size_t total(const struct reducer *red, struct buffer b)
{
    return red->element * reducer_elements(red, b);
}

/* Of one rank, the result is its operand. */
static enum coll_error alone(struct buffer from, struct buffer to)
{
    return from.at == to.at ? COLL_OK : coll_copy(to, from, 2);
}

enum coll_error coll_reduce(struct team *t, const struct reducer *red, struct buffer from,
                            struct buffer to, uint32_t root)
{
    size_t bytes = total(red, from);
    if (t->size == 1)
        return alone(from, to);
    if (bytes > TEAM_CELL && !reducer_is_plain(red))
        return user_op_reduce(t, red, from, to,
                              (struct part){t->rank == root ? t->size : 0, 0, bytes});
    if (bytes > TEAM_CELL)
        return segmented_reduce(t, red, from, to, root);
    return bytes ? reduce_some(t, red, from, to, root, bytes) : COLL_OK;
}

enum coll_error coll_allreduce(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to)
{
    size_t bytes = total(red, from);
    if (t->size == 1)
        return alone(from, to);
    if (UNLIKELY(bytes > TEAM_CELL) && !reducer_is_plain(red))
        return user_op_reduce(t, red, from, to, (struct part){t->size, 0, bytes});
    if (UNLIKELY(bytes > TEAM_CELL))
        return segmented_reduce(t, red, from, to, SEGMENTED_FOR_ALL);
    if (!bytes)
        return COLL_OK;
    if (t->size <= TREE_FLAT)
        return allreduce_some(t, red, from, to, bytes);
    return allreduce_many(t, red, from, to, bytes);
}

enum coll_error coll_reduce_scatter(struct team *t, const struct reducer *red, struct buffer from,
                                    struct buffer to, const struct blocks *shares)
{
    size_t begin[TEAM_RANKS_MAX + 1];
    begin[0] = 0;
    for (uint32_t r = 0; r < t->size; r++)
        begin[r + 1] = begin[r] + reducer_elements(red, block_of(shares, r)) * red->element;
    size_t bytes = begin[t->size], own = begin[t->rank + 1] - begin[t->rank], other = bytes - own;
    if (t->size == 1)
        return alone(from, to);
    bool two = t->size == 2 && reducer_is_plain(red); /* each posts only what the other wants */
    size_t most = !two ? bytes : own > other ? own : other;
    if (most > TEAM_CELL && !reducer_is_plain(red))
        return user_op_reduce(t, red, from, to, (struct part){t->size, begin[t->rank], own});
    if (most > TEAM_CELL)
        return segmented_reduce_scatter(t, red, from, to, begin);
    if (!bytes)
        return COLL_OK;
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
    enum slot_kind mine = post_operand(t, red, o.op, from, two ? other : bytes, by_reference);
    if (own)
        combine_posts(t, red, &o, to);
    else
        pass_over(t, &o);
    leave(t, &o, mine);
    return o.error;
}

/* Each rank combines what is before it. */
enum coll_error coll_scan(struct team *t, const struct reducer *red, struct buffer from,
                          struct buffer to, bool exclusive)
{
    size_t bytes = total(red, from);
    if (t->size == 1)
        return exclusive ? COLL_OK : alone(from, to);
    if (bytes > TEAM_CELL && !reducer_is_plain(red))
        return user_op_reduce(t, red, from, to, (struct part){t->rank + !exclusive, 0, bytes});
    if (bytes > TEAM_CELL)
        return segmented_scan(t, red, from, to, exclusive);
    if (!bytes)
        return COLL_OK;
    struct operands o = {.op = team_begin(t),
                         .count = t->rank + !exclusive,
                         .bytes = bytes,
                         .own = own_operand(red, from),
                         .ahead = true};
    if (t->rank + 1 < t->size || !o.own)
        post_operand(t, red, o.op, from, bytes, BY_REFERENCE_NEVER);
    if (t->rank)
        combine_posts(t, red, &o, to);
    else if (!exclusive)
        alone(from, to);
    team_end(t);
    return o.error;
}
