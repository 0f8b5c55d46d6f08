#include "coll_inplace/shares.h"

enum for_whom { FOR_ALL, FOR_ROOT, FOR_OWNER };

/* What a rank tells the others at first; 0: not in the heap. */
struct facts {
    uint64_t from, to;
};

struct work {
    struct team *t;
    const struct reducer *red;
    struct buffer from, to;
    enum for_whom whom;
    uint32_t root;
    const size_t *begin;        /* of each share, bytes */
    size_t chunk, steps;        /* of a share in a step; how many steps */
    bool copies_in, copies_out; /* some operand, some result is not in the heap */
    bool in_place;
    struct facts facts[TEAM_RANKS_MAX];
};

static size_t share_of(const struct work *w, uint32_t rank)
{
    return w->begin[rank + 1] - w->begin[rank];
}

/* The chunk of a share in a step: where in the vector, how long. */
static size_t chunk_first(const struct work *w, uint32_t rank, size_t step)
{
    return w->begin[rank] + step * w->chunk;
}

static size_t chunk_bytes(const struct work *w, uint32_t rank, size_t step)
{
    size_t share = share_of(w, rank), done = step * w->chunk;
    return done < share ? min_size(w->chunk, share - done) : 0;
}

static bool receives(const struct work *w, uint32_t rank)
{
    return w->whom == FOR_ALL || (w->whom == FOR_ROOT && rank == w->root);
}

/* ---- what is where ---- */

static uint64_t position_of(const struct work *w, struct buffer b, size_t bytes)
{
    char *place = reducer_is_plain(w->red) ? team_place(b, bytes) : NULL;
    return place ? (uint64_t)(place - node.base) : 0;
}

/* Tell and hear. A result that will lie where others' shares of the operand are must not be written
 * before those are read: then the operand is copied. */
static void exchange_facts(struct work *w)
{
    struct team *t = w->t;
    size_t bytes = w->begin[t->size];
    bool moves = w->in_place && w->whom == FOR_OWNER;
    struct facts mine = {
        .from = moves ? 0 : position_of(w, w->from, bytes),
        .to = receives(w, t->rank) ? position_of(w, w->to, bytes) : 0,
    };
    uint32_t op = team_begin(t);
    team_await_room(t);
    memcpy(post_of(t->mine, op)->data, &mine, sizeof mine);
    team_post(t, op, POST_HERE, sizeof mine);
    for (uint32_t r = 0; r < t->size; r++) {
        memcpy(&w->facts[r], team_hear(t, r, op)->data, sizeof w->facts[r]);
        w->copies_in |= !w->facts[r].from;
        w->copies_out |= receives(w, r) && !w->facts[r].to;
    }
    team_all_did(t, op - 1);
}

static void plan(struct work *w)
{
    size_t longest = 0, room = SIZE_MAX;
    exchange_facts(w);
    for (uint32_t r = 0; r < w->t->size; r++)
        longest = share_of(w, r) > longest ? share_of(w, r) : longest;
    if (w->copies_in)
        room = PIECE / w->t->size;
    else if (w->copies_out)
        room = PIECE;
    w->chunk = room == SIZE_MAX ? longest : room / w->red->element * w->red->element;
    w->steps = (longest + w->chunk - 1) / w->chunk;
}

/* ---- one step ---- */

/* Our operand's chunks of the others' shares; of ours too where it is not combined as it lies. */
static void post_operands(struct work *w, uint32_t op, size_t step)
{
    struct team *t = w->t;
    if (w->facts[t->rank].from)
        return;
    team_await_room(t);
    char *cell = cell_of(t->mine, op);
    for (uint32_t r = 0; r < t->size; r++)
        if (r != t->rank || !reducer_is_plain(w->red))
            reducer_read(w->red, cell + r * w->chunk, w->from, chunk_first(w, r, step),
                         chunk_bytes(w, r, step));
    team_post(t, op, POST_CELL, PIECE);
}

/* Rank r's operand for our chunk. */
static const char *operand(const struct work *w, uint32_t r, uint32_t op, size_t first)
{
    struct team *t = w->t;
    if (w->facts[r].from)
        return node.base + w->facts[r].from + first;
    if (r == t->rank && reducer_is_plain(w->red))
        return w->from.at + first;
    return cell_of(t->row[r], op) + t->rank * w->chunk;
}

/* Combine a part that stays in the nearest cache. The operand of ours may be where the result goes,
 * so that is written last. */
static void combine_part(const struct work *w, const char *const *operands, size_t at, char *out,
                         size_t bytes)
{
    _Alignas(LINE) char space[TEAM_CELL];
    uint32_t n = w->t->size;
    const char *sum = operands[0] + at;
    for (uint32_t r = 1; r < n; r++) {
        char *next = r + 1 < n ? space : out;
        reducer_combine(w->red, next, sum, operands[r] + at, bytes);
        sum = next;
    }
}

/* Bring a part of the result to those in whose buffers we may write. */
static void deliver(const struct work *w, const char *part, size_t first, size_t bytes)
{
    struct team *t = w->t;
    for (uint32_t r = 0; r < t->size; r++)
        if (r != t->rank && receives(w, r) && w->facts[r].to)
            copy_bytes(node.base + w->facts[r].to + first, part, bytes);
}

/* Our chunk of the step. */
static void combine_chunk(struct work *w, uint32_t in, uint32_t out, size_t step)
{
    struct team *t = w->t;
    const char *operands[TEAM_RANKS_MAX];
    size_t first = chunk_first(w, t->rank, step), bytes = chunk_bytes(w, t->rank, step);
    size_t most = TEAM_CELL / w->red->element * w->red->element;
    size_t to = w->whom == FOR_OWNER ? step * w->chunk : first;
    bool ours = w->whom == FOR_OWNER || receives(w, t->rank);
    bool straight = ours && reducer_is_plain(w->red) && !w->to.map->without_holes;
    for (uint32_t r = 0; r < t->size; r++)
        operands[r] = operand(w, r, in, first);
    for (size_t at = 0; at < bytes; at += most) {
        _Alignas(LINE) char space[TEAM_CELL];
        size_t part = min_size(most, bytes - at);
        char *cell = w->copies_out ? cell_of(t->mine, out) + at : NULL;
        char *sum = straight ? w->to.at + to + at : cell ? cell : space;
        combine_part(w, operands, at, sum, part);
        if (ours && !straight)
            reducer_write(w->red, w->to, to + at, sum, part);
        if (cell && cell != sum)
            copy_bytes(cell, sum, part);
        deliver(w, sum, first + at, part);
    }
}

/* Take the results that others have made of their chunks. */
static void take_results(const struct work *w, uint32_t out, size_t step)
{
    struct team *t = w->t;
    if (!receives(w, t->rank) || w->facts[t->rank].to)
        return;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t bytes = chunk_bytes(w, r, step);
        if (r == t->rank || !bytes)
            continue;
        team_hear(t, r, out);
        reducer_write(w->red, w->to, chunk_first(w, r, step), cell_of(t->row[r], out), bytes);
    }
}

static void await_operands(const struct work *w, uint32_t in)
{
    for (uint32_t r = 0; r < w->t->size; r++)
        if (!w->facts[r].from && r != w->t->rank)
            team_hear(w->t, r, in);
}

/* ---- all of it ---- */

static void run(struct work *w)
{
    struct team *t = w->t;
    uint32_t in = 0, out = 0;
    plan(w);
    for (size_t step = 0; step < w->steps; step++) {
        uint32_t results = out;
        if (w->copies_in) {
            in = team_begin_piece(t);
            post_operands(w, in, step);
        }
        uint32_t begun = t->op;
        if (w->copies_out) {
            out = team_begin_piece(t);
            if (step)
                take_results(w, results, step - 1);
            team_done(t, w->copies_in ? in - 1 : begun);
            team_await_room(t);
        }
        if (w->copies_in)
            await_operands(w, in);
        combine_chunk(w, in, out, step);
        if (w->copies_out)
            team_post(t, out, POST_CELL, w->chunk);
        else
            team_end(t);
    }
    if (w->copies_out)
        take_results(w, out, w->steps - 1);
    bool all_copied = w->copies_in && w->copies_out;
    for (uint32_t r = 0; r < t->size && all_copied; r++)
        all_copied = !w->facts[r].from && !w->facts[r].to;
    if (!all_copied)
        coll_barrier(t);
    team_done(t, t->op);
}

/* Shares of whole lines, where elements allow. */
static void divide(struct team *t, const struct reducer *red, size_t bytes, size_t *begin)
{
    size_t grain = red->element < LINE && LINE % red->element == 0 ? LINE : red->element;
    size_t grains = bytes / grain;
    for (uint32_t r = 0; r < t->size; r++)
        begin[r] = grains * r / t->size * grain;
    begin[t->size] = bytes;
}

void shares_reduce(struct team *t, const struct reducer *red, struct buffer from, struct buffer to,
                   uint32_t root)
{
    size_t begin[TEAM_RANKS_MAX + 1];
    divide(t, red, reducer_elements(red, from) * red->element, begin);
    struct work w = {.t = t,
                     .red = red,
                     .from = from,
                     .to = to,
                     .whom = root == SHARES_FOR_ALL ? FOR_ALL : FOR_ROOT,
                     .root = root,
                     .begin = begin,
                     .in_place = from.at == to.at};
    run(&w);
}

void shares_reduce_scatter(struct team *t, const struct reducer *red, struct buffer from,
                           struct buffer to, const size_t *begin)
{
    struct work w = {.t = t,
                     .red = red,
                     .from = from,
                     .to = to,
                     .whom = FOR_OWNER,
                     .begin = begin,
                     .in_place = from.at == to.at};
    run(&w);
}
