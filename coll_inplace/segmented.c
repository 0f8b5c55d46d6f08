#include "coll_inplace/segmented.h"

#include "coll_inplace/thresholds.h"

enum for_whom { FOR_ALL, FOR_ROOT, FOR_OWNER, FOR_EACH };

/* What a rank tells the others at first; 0: out of reach. */
struct facts {
    remote_addr_t from, to;
};

/* A part of a chunk stays in the nearest cache; or is worth a system call, as long as what is
 * fetched has room. */
enum { PART = TEAM_CELL, ROOM = STREAM_CELLS * STREAM_CELL };

struct work {
    struct team *t;
    const struct reducer *red;
    struct buffer from, to;
    enum for_whom whom;
    uint32_t root;
    uint32_t count;             /* we combine the operands of ranks 0 .. count - 1 */
    size_t *begin;              /* of each share, bytes; of FOR_EACH only the end of the last */
    size_t chunk, steps;        /* of a share in a step; how many steps */
    size_t part;                /* of a chunk that is combined in one go */
    bool copies_in, copies_out; /* some operand, some result is out of reach */
    bool fetches;               /* some operand is in private memory */
    bool in_place;
    bool around; /* results are written around the caches, where no operands were read */
    enum coll_error error;
    struct facts facts[TEAM_RANKS_MAX];
};

static size_t segment_of(const struct work *w, uint32_t rank)
{
    if (w->whom == FOR_EACH)
        return w->begin[w->t->size];
    return w->begin[rank + 1] - w->begin[rank];
}

/* The chunk of a share in a step: where in the vector, how long. */
static size_t chunk_first(const struct work *w, uint32_t rank, size_t step)
{
    return (w->whom == FOR_EACH ? 0 : w->begin[rank]) + step * w->chunk;
}

static size_t chunk_bytes(const struct work *w, uint32_t rank, size_t step)
{
    size_t share = segment_of(w, rank), done = step * w->chunk;
    return done < share ? min_size(w->chunk, share - done) : 0;
}

static bool receives(const struct work *w, uint32_t rank)
{
    return w->whom == FOR_ALL || (w->whom == FOR_ROOT && rank == w->root);
}

/* ---- what is where ---- */

/* Of a scan the last operand is for nobody else. */
static bool for_others(const struct work *w, uint32_t rank)
{
    return w->whom != FOR_EACH || rank + 1 < w->t->size;
}

/* Where our operand lies if the others may read it there. A result that will lie where operands for
 * others are must not be written before those are read: then the operand is copied. So it is where
 * several ranks want all of it, and the kernel would copy it for each. */
static remote_addr_t place_of_operand(const struct work *w, size_t bytes)
{
    bool moves = w->in_place && (w->whom == FOR_OWNER || w->whom == FOR_EACH);
    if (moves || !for_others(w, w->t->rank))
        return 0;
    if (w->whom != FOR_EACH || w->t->size == 2)
        return team_address(w->t, w->from, bytes);
    remote_addr_t place = team_target_address(w->t, w->from, bytes);
    return remote_addr_local(place) ? place : 0;
}

static bool in_cells(const struct work *w, uint32_t rank)
{
    return !w->facts[rank].from && for_others(w, rank);
}

/* Tell and hear. */
static void exchange_facts(struct work *w)
{
    struct team *t = w->t;
    size_t bytes = w->begin[t->size];
    struct facts mine = {
        .from = place_of_operand(w, bytes),
        .to = receives(w, t->rank) ? team_address(t, w->to, bytes) : 0,
    };
    uint32_t op = team_begin(t);
    team_wait_room(t, SLOT_INLINE);
    memcpy(slot_of(t->mine, op)->data, &mine, sizeof mine);
    team_publish(t, op, SLOT_INLINE, sizeof mine);
    for (uint32_t r = 0; r < t->size; r++) {
        memcpy(&w->facts[r], team_wait(t, r, op)->data, sizeof w->facts[r]);
        w->copies_in |= in_cells(w, r);
        w->fetches |= w->facts[r].from && !remote_addr_local(w->facts[r].from);
        w->copies_out |= receives(w, r) && !w->facts[r].to;
    }
    team_note_all_done(t, op - 1);
}

/* Shares of whole lines, where elements allow. The root takes more than those who bring it their
 * results by a copy of the kernel's. */
static void divide(struct work *w)
{
    size_t element = w->red->element, bytes = w->begin[w->t->size];
    size_t grain = element < LINE && LINE % element == 0 ? LINE : element;
    size_t other = COST_COMBINE * (size_t)(w->t->size - 1), root = other, before = 0;
    if (w->whom == FOR_ROOT && w->fetches && !w->copies_in)
        root += COST_DELIVER;
    size_t all = other * (w->t->size - 1) + root;
    for (uint32_t r = 0; r < w->t->size; r++) {
        w->begin[r] = bytes / grain * before / all * grain;
        before += r == w->root ? root : other;
    }
}

/* For how many parts there must be room: a sum and an operand. Of two ranks only one operand is
 * fetched, and the sum may lie where that did. */
static size_t rooms(const struct work *w)
{
    return w->t->size == 2 ? 1 : 2;
}

/* Bytes that go through the caches. */
static size_t moved(const struct work *w)
{
    size_t results = w->whom == FOR_ALL ? w->t->size : 1;
    return (w->t->size + results) * w->begin[w->t->size];
}

static void plan(struct work *w)
{
    size_t longest = 0, room = SIZE_MAX;
    exchange_facts(w);
    if (w->t->size < 2) /* one rank has nothing to share: reduce.c */
        __builtin_unreachable();
    if (w->whom == FOR_ALL || w->whom == FOR_ROOT)
        divide(w);
    for (uint32_t r = 0; r < w->t->size; r++)
        longest = segment_of(w, r) > longest ? segment_of(w, r) : longest;
    if (w->whom == FOR_EACH) {
        w->copies_out = false;
        room = w->copies_in ? PIECE : SIZE_MAX;
    } else if (w->copies_in) {
        room = PIECE / (w->t->size - 1);
    } else if (w->copies_out) {
        room = PIECE;
    }
    w->chunk = room == SIZE_MAX ? longest : room / w->red->element * w->red->element;
    w->steps = longest ? (longest - 1) / w->chunk + 1 : 0;
    w->part = (w->fetches ? ROOM / rooms(w) : PART) / w->red->element * w->red->element;
    bool fits = copy_caches_hold(moved(w));
    w->around = w->begin[w->t->size] >= NONTEMPORAL_RESULT_MIN && !w->in_place && !w->fetches &&
                w->whom != FOR_EACH && !fits;
    if (w->count == 1 && !w->to.map->without_holes) /* it goes straight to where it is wanted */
        w->part = w->chunk;
}

/* ---- one step ---- */

/* Where rank r's chunk is in a piece of `owner`'s operand, which has none of its own share. */
static size_t in_piece(const struct work *w, uint32_t owner, uint32_t r)
{
    return w->whom == FOR_EACH ? 0 : (r - (r > owner)) * w->chunk;
}

/* Our operand's chunks of the others' shares. */
static void post_operands(struct work *w, uint32_t op, size_t step)
{
    struct team *t = w->t;
    if (!in_cells(w, t->rank))
        return;
    team_wait_room(t, SLOT_BUFFERED);
    char *cell = piece_of(t->mine, op);
    uint32_t chunks = w->whom == FOR_EACH ? 1 : t->size;
    for (uint32_t r = 0; r < chunks; r++)
        if (r != t->rank || w->whom == FOR_EACH) {
            team_copy(t, cell + in_piece(w, t->rank, r), w->from.at + chunk_first(w, r, step),
                      chunk_bytes(w, r, step));
        }
    team_publish(t, op, SLOT_BUFFERED, PIECE);
}

/* Room of ours for parts: no stream runs meanwhile. */
static char *room_for(const struct work *w, size_t which)
{
    return stream_cell(w->t->mine, 0) + (rooms(w) == 1 ? 0 : which * ROOM / 2);
}

/* Rank r's operand for a part of our share, `first` in the vector and `at` in the chunk; fetched to
 * `room` if need be. */
static const char *operand(struct work *w, uint32_t r, uint32_t in, size_t first, size_t at,
                           size_t bytes, char *room)
{
    struct team *t = w->t;
    remote_addr_t place = w->facts[r].from;
    if (r == t->rank)
        return w->from.at + first + at;
    if (!place)
        return piece_of(t->mailbox[r], in) + in_piece(w, r, t->rank) + at;
    if (remote_addr_local(place))
        return remote_addr_local(place) + first + at;
    if (!remote_read(t, r, place, first + at, room, bytes))
        w->error |= COLL_UNREACHABLE;
    return room;
}

/* `out` is where the result goes, or a room of ours. Our own operand may lie there, so it is
 * written last; if it does not, what is fetched goes there at once. */
static void combine_part(struct work *w, uint32_t in, size_t first, size_t at, char *out,
                         size_t bytes)
{
    char *space = room_for(w, 0), *other = w->in_place || out == space ? room_for(w, 1) : out;
    bool two = w->count == 2 && w->t->rank < 2; /* one of them is fetched at most */
    char *room = w->count == 1 ? out : two ? other : space;
    const char *sum = operand(w, 0, in, first, at, bytes, room);
    if (w->count == 1 && sum != out)
        copy_bytes(out, sum, bytes);
    for (uint32_t r = 1; r < w->count; r++) {
        char *next = r + 1 < w->count ? space : out;
        reducer_combine(w->red, next, sum, operand(w, r, in, first, at, bytes, other), bytes);
        sum = next;
    }
}

static void write_result(const struct work *w, char *to, const char *part, size_t bytes)
{
    if (w->around)
        copy_nontemporal(to, part, bytes);
    else
        copy_bytes(to, part, bytes);
}

/* Bring a part of the result to those in whose buffers we may write. */
static void deliver(struct work *w, const char *part, size_t first, size_t bytes)
{
    struct team *t = w->t;
    for (uint32_t r = 0; r < t->size; r++) {
        remote_addr_t place = w->facts[r].to;
        if (r == t->rank || !receives(w, r) || !place)
            continue;
        if (remote_addr_local(place))
            write_result(w, remote_addr_local(place) + first, part, bytes);
        else if (!remote_write(t, r, place, first, part, bytes))
            w->error |= COLL_UNREACHABLE;
    }
}

/* Our chunk of the step. */
static void combine_chunk(struct work *w, uint32_t in, uint32_t out, size_t step)
{
    struct team *t = w->t;
    size_t first = chunk_first(w, t->rank, step), bytes = chunk_bytes(w, t->rank, step);
    size_t to = w->whom == FOR_OWNER ? step * w->chunk : first;
    bool ours = w->whom == FOR_OWNER || w->whom == FOR_EACH || receives(w, t->rank);
    bool straight = ours && !w->to.map->without_holes;
    for (size_t at = 0; at < bytes && w->count; at += w->part) {
        size_t part = min_size(w->part, bytes - at);
        char *cell = w->copies_out ? piece_of(t->mine, out) + at : NULL;
        char *sum = straight && !w->around ? w->to.at + to + at : cell ? cell : room_for(w, 0);
        combine_part(w, in, first, at, sum, part);
        if (ours && !straight)
            reducer_write(w->red, w->to, to + at, sum, part);
        else if (ours && w->around)
            write_result(w, w->to.at + to + at, sum, part);
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
        size_t first = chunk_first(w, r, step);
        team_wait(t, r, out);
        const char *piece = piece_of(t->mailbox[r], out);
        if (w->around && !w->to.map->without_holes)
            write_result(w, w->to.at + first, piece, bytes);
        else
            reducer_write(w->red, w->to, first, piece, bytes);
    }
}

static void await_operands(const struct work *w, uint32_t in)
{
    for (uint32_t r = 0; r < w->t->size; r++)
        if (in_cells(w, r) && r != w->t->rank)
            team_wait(w->t, r, in);
}

/* ---- all of it ---- */

static enum coll_error run(struct work *w)
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
            team_wait_room(t, SLOT_BUFFERED);
        }
        if (w->copies_in)
            await_operands(w, in);
        combine_chunk(w, in, out, step);
        if (w->copies_out)
            team_publish(t, out, SLOT_BUFFERED, w->chunk);
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
    return w->error;
}

enum coll_error segmented_reduce(struct team *t, const struct reducer *red, struct buffer from,
                                 struct buffer to, uint32_t root)
{
    size_t begin[TEAM_RANKS_MAX + 1];
    begin[t->size] = reducer_elements(red, from) * red->element;
    struct work w = {.t = t,
                     .red = red,
                     .from = from,
                     .to = to,
                     .whom = root == SEGMENTED_FOR_ALL ? FOR_ALL : FOR_ROOT,
                     .root = root,
                     .count = t->size,
                     .begin = begin,
                     .in_place = from.at == to.at};
    return run(&w);
}

enum coll_error segmented_reduce_scatter(struct team *t, const struct reducer *red,
                                         struct buffer from, struct buffer to, size_t *begin)
{
    struct work w = {.t = t,
                     .red = red,
                     .from = from,
                     .to = to,
                     .whom = FOR_OWNER,
                     .count = t->size,
                     .begin = begin,
                     .in_place = from.at == to.at};
    return run(&w);
}

enum coll_error segmented_scan(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to, bool exclusive)
{
    size_t begin[TEAM_RANKS_MAX + 1];
    begin[t->size] = reducer_elements(red, from) * red->element;
    struct work w = {.t = t,
                     .red = red,
                     .from = from,
                     .to = to,
                     .whom = FOR_EACH,
                     .count = t->rank + !exclusive,
                     .begin = begin,
                     .in_place = from.at == to.at};
    return run(&w);
}
