/* Reductions of what fits into a cell. Each rank posts its operand. In a team of a few, who wants
 * the result combines all of them, in rank order: one flight. In a larger one they are combined up
 * a tree whose subtrees are ranges of ranks, so the order is still that of the ranks, and rank 0
 * posts the result. What is longer: see shares.c, and here for elements that only fit singly. */
#include "coll_inplace/shares.h"

static const char *operand(struct team *t, uint32_t rank, uint32_t op)
{
    return post_data(t, rank, team_hear(t, rank, op));
}

static void post_operand(struct team *t, const struct reducer *red, uint32_t op, struct buffer from,
                         size_t first, size_t bytes)
{
    team_await_room(t);
    bool few = bytes <= POST_ROOM;
    char *to = few ? post_of(t->mine, op)->data : cell_of(t->mine, op);
    reducer_read(red, to, from, first, bytes);
    team_post(t, op, few ? POST_HERE : POST_CELL, bytes);
}

/* Combine `bytes` bytes, from `at` on, of the operands of ranks 0 .. count - 1 into a buffer. */
static void combine_posts(struct team *t, const struct reducer *red, uint32_t op, uint32_t count,
                          size_t at, size_t bytes, struct buffer to, size_t first)
{
    _Alignas(LINE) char space[TEAM_CELL];
    bool straight = reducer_is_plain(red) && !to.map->without_holes;
    char *out = straight ? to.at + first : space;
    if (count == 1)
        copy_bytes(out, operand(t, 0, op) + at, bytes);
    else
        reducer_combine(red, out, operand(t, 0, op) + at, operand(t, 1, op) + at, bytes);
    for (uint32_t r = 2; r < count; r++)
        reducer_combine(red, out, out, operand(t, r, op) + at, bytes);
    if (!straight)
        reducer_write(red, to, first, out, bytes);
}

/* Up the tree, to rank 0's post. */
static uint32_t combine_up(struct team *t, const struct reducer *red, struct buffer from,
                           size_t first, size_t bytes)
{
    uint32_t op = team_begin(t), v = t->rank;
    bool few = bytes <= POST_ROOM;
    team_await_room(t);
    char *sum = few ? post_of(t->mine, op)->data : cell_of(t->mine, op);
    reducer_read(red, sum, from, first, bytes);
    for (uint32_t step = 1; step < t->size && v % (step * TREE_RADIX) == 0; step *= TREE_RADIX)
        for (uint32_t j = 1; j < TREE_RADIX && v + j * step < t->size; j++)
            reducer_combine(red, sum, sum, operand(t, v + j * step, op), bytes);
    team_post(t, op, few ? POST_HERE : POST_CELL, bytes);
    return op;
}

/* One part of a reduction that fits into a cell. */
static void reduce_some(struct team *t, const struct reducer *red, struct buffer from,
                        struct buffer to, uint32_t root, size_t first, size_t bytes)
{
    uint32_t op;
    if (t->size <= TREE_FLAT) {
        op = team_begin(t);
        post_operand(t, red, op, from, first, bytes);
        if (t->rank == root)
            combine_posts(t, red, op, t->size, 0, bytes, to, first);
    } else {
        op = combine_up(t, red, from, first, bytes);
        if (t->rank == root)
            reducer_write(red, to, first, operand(t, 0, op), bytes);
    }
    team_end(t);
}

static void allreduce_some(struct team *t, const struct reducer *red, struct buffer from,
                           struct buffer to, size_t first, size_t bytes)
{
    if (t->size <= TREE_FLAT) {
        uint32_t op = team_begin(t);
        post_operand(t, red, op, from, first, bytes);
        combine_posts(t, red, op, t->size, 0, bytes, to, first);
        team_all_did(t, op - 1);
        team_end(t);
        return;
    }
    uint32_t up = combine_up(t, red, from, first, bytes), down = team_begin(t);
    if (t->rank == 0) {
        reducer_write(red, to, first, operand(t, 0, up), bytes);
        post_operand(t, red, down, to, first, bytes);
    } else {
        const struct post *post = tree_hear(t, down, 0);
        const char *sum = post_kind(post) == POST_CELL ? cell_of(t->row[0], down) : post->data;
        reducer_write(red, to, first, sum, bytes);
    }
    team_all_did(t, up - 1);
    team_end(t);
}

/* Bytes of whole elements that fit into a cell. */
static size_t most_in_cell(const struct reducer *red)
{
    return TEAM_CELL / red->element * red->element;
}

static size_t total(const struct reducer *red, struct buffer b)
{
    return red->element * reducer_elements(red, b);
}

void coll_reduce(struct team *t, const struct reducer *red, struct buffer from, struct buffer to,
                 uint32_t root)
{
    size_t bytes = total(red, from);
    if (t->size == 1) {
        if (from.at != to.at)
            coll_copy(to, from);
    } else if (bytes <= TEAM_CELL) {
        if (bytes)
            reduce_some(t, red, from, to, root, 0, bytes);
    } else {
        shares_reduce(t, red, from, to, root);
    }
}

void coll_allreduce(struct team *t, const struct reducer *red, struct buffer from, struct buffer to)
{
    size_t bytes = total(red, from);
    if (t->size == 1) {
        if (from.at != to.at)
            coll_copy(to, from);
    } else if (LIKELY(bytes <= TEAM_CELL)) {
        if (bytes)
            allreduce_some(t, red, from, to, 0, bytes);
    } else {
        shares_reduce(t, red, from, to, SHARES_FOR_ALL);
    }
}

void coll_reduce_scatter(struct team *t, const struct reducer *red, struct buffer from,
                         struct buffer to, const struct blocks *shares)
{
    size_t begin[TEAM_RANKS_MAX + 1];
    begin[0] = 0;
    for (uint32_t r = 0; r < t->size; r++)
        begin[r + 1] = begin[r] + reducer_elements(red, block_of(shares, r)) * red->element;
    size_t bytes = begin[t->size], own = begin[t->rank + 1] - begin[t->rank];
    if (!bytes)
        return;
    if (t->size == 1) {
        if (from.at != to.at)
            coll_copy(to, from);
    } else if (bytes <= TEAM_CELL) {
        uint32_t op = team_begin(t);
        post_operand(t, red, op, from, 0, bytes);
        if (own)
            combine_posts(t, red, op, t->size, begin[t->rank], own, to, 0);
        team_end(t);
    } else {
        shares_reduce_scatter(t, red, from, to, begin);
    }
}

/* Each rank combines what is before it. Long operands in parts. */
void coll_scan(struct team *t, const struct reducer *red, struct buffer from, struct buffer to,
               bool exclusive)
{
    size_t bytes = total(red, from), most = most_in_cell(red);
    uint32_t count = t->rank + !exclusive;
    if (t->size == 1) {
        if (!exclusive && from.at != to.at)
            coll_copy(to, from);
        return;
    }
    for (size_t at = 0; at < bytes; at += most) {
        size_t part = min_size(most, bytes - at);
        uint32_t op = team_begin(t);
        post_operand(t, red, op, from, at, part);
        if (count)
            combine_posts(t, red, op, count, 0, part, to, at);
        team_end(t);
    }
}
