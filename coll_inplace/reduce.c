/* Reductions of what fits into a cell. Each rank posts its operand. In a team of a few, who wants
 * the result combines all of them, in rank order: one flight. In a larger one they are combined up
 * a tree whose subtrees are ranges of ranks, so the order is still that of the ranks wherever they
 * run; integers go up the tree that keeps to domains. Rank 0 posts the result. What is longer:
 * shares.c, and whole.c for operations of the user's. */
#include "coll_inplace/shares.h"
#include "coll_inplace/whole.h"

/* Our operand. */
static enum post_kind post_operand(struct team *t, const struct reducer *red, uint32_t op,
                                   struct buffer from, size_t bytes, enum stay stay)
{
    if (!reducer_is_plain(red))
        return team_post_data(t, op, from, stay, 0);
    if (LIKELY(bytes <= POST_ROOM)) {
        team_post_few(t, op, from.at, bytes);
        return POST_HERE;
    }
    struct run run;
    struct typemap image = typemap_of_bytes(&run, bytes);
    return team_post_data(t, op, (struct buffer){from.at, &image, 1}, stay, 0);
}

/* What combine_posts() combines. */
struct operands {
    uint32_t op, count; /* the posts of ranks 0 .. count - 1 */
    size_t at, bytes;   /* of each */
    const char *own;    /* ours, if it is combined where it lies; NULL: from our post */
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
    const struct post *post =
        o->ahead ? team_hear_stream(t, rank, o->op) : team_hear(t, rank, o->op);
    if (LIKELY(post_kind(post) != POST_PLACE))
        return post_data(t, rank, o->op, post) + o->at;
    o->bound = true;
    return place_shared(post_place(post)) + o->at;
}

/* Where an operand stays, its owner waits for us all the same. */
static void pass_over(struct team *t, struct operands *o)
{
    for (uint32_t r = 0; r < o->count; r++)
        o->bound |= post_kind(team_hear(t, r, o->op)) == POST_PLACE;
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
static void leave(struct team *t, const struct operands *o, enum post_kind mine)
{
    if (o->bound)
        team_done(t, o->op);
    if (mine == POST_PLACE)
        team_await_all(t, o->op);
    team_end(t);
}

/* False: there is nothing, since somebody had no memory to combine it. */
static bool combine_one(struct team *t, const struct reducer *red, uint32_t op, uint32_t rank,
                        char *sum, size_t bytes)
{
    const struct post *post = team_hear(t, rank, op);
    if (UNLIKELY(red->starved || !post_bytes(post)))
        return false;
    reducer_combine(red, sum, sum, post_data(t, rank, op, post), bytes);
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

/* Up the tree, to rank 0's post. What somebody had no memory to combine is posted as nothing. */
static uint32_t combine_up(struct team *t, const struct reducer *red, struct buffer from,
                           size_t bytes)
{
    uint32_t op = team_begin(t);
    enum post_kind kind = bytes <= POST_ROOM ? POST_HERE : POST_CELL;
    team_await_room(t, kind);
    char *sum = kind == POST_HERE ? post_of(t->mine, op)->data : cell_for(t->mine, op, bytes);
    reducer_read(red, sum, from, 0, bytes);
    bool all = reducer_is_exact(red) ? combine_children(t, red, op, sum, bytes)
                                     : combine_ranges(t, red, op, sum, bytes);
    team_post(t, op, kind, all ? bytes : 0);
    return op;
}

/* What has come of it. */
static enum coll_error write_post(struct team *t, const struct reducer *red, struct buffer to,
                                  uint32_t op, const struct post *post)
{
    if (UNLIKELY(!post_bytes(post)))
        return COLL_NO_MEMORY;
    reducer_write(red, to, 0, post_data(t, 0, op, post), post_bytes(post));
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
        enum post_kind mine = POST_HERE;
        if (t->rank != root || !o.own)
            mine =
                post_operand(t, red, o.op, from, bytes, t->rank == root ? STAY_NEVER : STAY_LONG);
        if (t->rank == root)
            combine_posts(t, red, &o, to);
        if (o.bound)
            team_done(t, o.op);
        if (mine == POST_PLACE)
            sync_await(&t->row[root]->done, o.op);
        error = o.error;
    } else {
        uint32_t op = combine_up(t, red, from, bytes);
        if (t->rank == root)
            error = write_post(t, red, to, op, team_hear(t, 0, op));
    }
    team_end(t);
    return error;
}

static enum coll_error allreduce_some(struct team *t, const struct reducer *red, struct buffer from,
                                      struct buffer to, size_t bytes)
{
    struct operands o = {
        .op = team_begin(t), .count = t->size, .bytes = bytes, .own = own_operand(red, from)};
    enum post_kind mine =
        post_operand(t, red, o.op, from, bytes, from.at != to.at ? STAY_OPERANDS : STAY_NEVER);
    o.next =
        mine == POST_CELL && !team_streams(t, bytes) ? cell_for(t->mine, o.op + 1, bytes) : NULL;
    combine_posts(t, red, &o, to);
    team_all_did(t, o.op - 1);
    leave(t, &o, mine);
    return o.error;
}

void coll_allreduce_few(struct team *t, combine_fn *kernel, const char *from, char *to,
                        size_t elements, size_t bytes)
{
    _Alignas(16) char sums[COLL_FEW];
    uint32_t op = team_begin(t);
    team_post_few(t, op, from, bytes);
    const char *sum = t->rank == 0 ? from : team_hear(t, 0, op)->data;
    for (uint32_t r = 1; r < t->size; r++) {
        const char *next = r == t->rank ? from : team_hear(t, r, op)->data;
        /* Ours may lie where the result goes, so that is written last. */
        char *out = r + 1 == t->size ? to : sums;
        kernel(out, sum, next, elements, NULL);
        sum = out;
    }
    team_all_did(t, op - 1);
    team_end(t);
}

/* Up the tree and down again. */
static enum coll_error allreduce_many(struct team *t, const struct reducer *red, struct buffer from,
                                      struct buffer to, size_t bytes)
{
    uint32_t up = combine_up(t, red, from, bytes), down = team_begin(t);
    enum coll_error error;
    if (t->rank == 0) {
        error = write_post(t, red, to, up, post_of(t->mine, up));
        if (LIKELY(error == COLL_OK))
            post_operand(t, red, down, to, bytes, STAY_NEVER);
        else
            team_post_few(t, down, "", 0);
    } else {
        error = write_post(t, red, to, down, tree_hear(t, down, 0));
    }
    team_all_did(t, up - 1);
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
        return whole_combine(t, red, from, to,
                             (struct part){t->rank == root ? t->size : 0, 0, bytes});
    if (bytes > TEAM_CELL)
        return shares_reduce(t, red, from, to, root);
    return bytes ? reduce_some(t, red, from, to, root, bytes) : COLL_OK;
}

enum coll_error coll_allreduce(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to)
{
    size_t bytes = total(red, from);
    if (t->size == 1)
        return alone(from, to);
    if (UNLIKELY(bytes > TEAM_CELL) && !reducer_is_plain(red))
        return whole_combine(t, red, from, to, (struct part){t->size, 0, bytes});
    if (UNLIKELY(bytes > TEAM_CELL))
        return shares_reduce(t, red, from, to, SHARES_FOR_ALL);
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
        return whole_combine(t, red, from, to, (struct part){t->size, begin[t->rank], own});
    if (most > TEAM_CELL)
        return shares_reduce_scatter(t, red, from, to, begin);
    if (!bytes)
        return COLL_OK;
    enum stay stay = from.at != to.at ? STAY_OPERANDS : STAY_NEVER;
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
    enum post_kind mine = post_operand(t, red, o.op, from, two ? other : bytes, stay);
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
        return whole_combine(t, red, from, to, (struct part){t->rank + !exclusive, 0, bytes});
    if (bytes > TEAM_CELL)
        return shares_scan(t, red, from, to, exclusive);
    if (!bytes)
        return COLL_OK;
    struct operands o = {.op = team_begin(t),
                         .count = t->rank + !exclusive,
                         .bytes = bytes,
                         .own = own_operand(red, from),
                         .ahead = true};
    if (t->rank + 1 < t->size || !o.own)
        post_operand(t, red, o.op, from, bytes, STAY_NEVER);
    if (t->rank)
        combine_posts(t, red, &o, to);
    else if (!exclusive)
        alone(from, to);
    team_end(t);
    return o.error;
}
