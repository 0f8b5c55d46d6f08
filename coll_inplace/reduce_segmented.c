#include "coll_inplace/reduce_segmented.h"

#include "coll_inplace/stream.h"

/* Which ranks receive a result: all of them; the root; of each segment its owner, at the start of
 * its buffer or where the segment is in the vector; or, in a scan, each rank one of its own. */
enum receivers { ALL_RANKS, ROOT_ONLY, OWNERS, OWNERS_IN_VECTOR, EACH_ITS_OWN };

/* Published by each rank first: its operand and its result. 0: peers cannot access the buffer. */
struct addresses {
    remote_addr_t from, to;
};
_Static_assert(sizeof(struct addresses) == 2 * sizeof(uint64_t), "an entry of TABLE_PAIRS");

/* A part of a chunk stays in the first-level cache; if operands are fetched through the OS, it is
 * as long as the room for them, so that it is worth a system call. */
enum { PART = TEAM_CELL, ROOM = STREAM_CELLS * STREAM_CELL };

struct segmented {
    struct team *t;
    const struct reducer *red;
    struct buffer from, to;
    enum receivers receivers;
    uint32_t root;
    uint32_t count;             /* we combine the operands of ranks 0 .. count - 1 */
    size_t *begin;              /* of each segment, in bytes; EACH_ITS_OWN: only the last one */
    size_t chunk, steps;        /* bytes of a segment per step; number of steps */
    size_t part;                /* bytes of a chunk that are combined at a time */
    bool copies_in, copies_out; /* some operand, some result goes through cells */
    bool fetches;               /* some operand is in private memory */
    bool in_place;
    bool nontemporal; /* results are written with non-temporal stores */
    enum coll_error error;
    struct addresses *addresses;
};

static size_t segment_of(const struct segmented *w, uint32_t rank)
{
    if (w->receivers == EACH_ITS_OWN)
        return w->begin[w->t->size];
    return w->begin[rank + 1] - w->begin[rank];
}

/* The chunk of a segment in a step: its first byte in the vector, and its length. */
static size_t chunk_first(const struct segmented *w, uint32_t rank, size_t step)
{
    return (w->receivers == EACH_ITS_OWN ? 0 : w->begin[rank]) + step * w->chunk;
}

static size_t chunk_bytes(const struct segmented *w, uint32_t rank, size_t step)
{
    size_t segment = segment_of(w, rank), done = step * w->chunk;
    return done < segment ? min_size(w->chunk, segment - done) : 0;
}

/* Whether the rank receives the results of other ranks. */
static bool receives(const struct segmented *w, uint32_t rank)
{
    return w->receivers == ALL_RANKS || (w->receivers == ROOT_ONLY && rank == w->root);
}

/* ---- the plan ---- */

/* In a scan no other rank reads the operand of the last one. */
static bool operand_is_read(const struct segmented *w, uint32_t rank)
{
    return w->receivers != EACH_ITS_OWN || rank + 1 < w->t->size;
}

/* The address of our operand; 0: it is copied into cells. It is copied if our result would
 * overwrite operands that other ranks still read. */
static remote_addr_t operand_address(const struct segmented *w, size_t bytes)
{
    bool overwritten = w->in_place && (w->receivers == OWNERS || w->receivers == EACH_ITS_OWN);
    if (overwritten || !operand_is_read(w, w->t->rank))
        return 0;
    return remote_addr_of_operand(w->t, w->from, bytes, w->receivers == EACH_ITS_OWN);
}

/* Whether the operand of a rank goes through cells. */
static bool in_cells(const struct segmented *w, uint32_t rank)
{
    return !w->addresses[rank].from && operand_is_read(w, rank);
}

static void exchange_addresses(struct segmented *w)
{
    struct team *t = w->t;
    size_t bytes = w->begin[t->size];
    struct addresses mine = {
        .from = operand_address(w, bytes),
        .to = receives(w, t->rank) ? remote_addr_to_read(t, w->to, bytes) : 0,
    };
    w->addresses = team_table(t, TABLE_PAIRS);
    uint32_t op = team_begin(t);
    team_wait_slot(t);
    memcpy(slot_of(t->own_ring, op)->data, &mine, sizeof mine);
    sync_store_fence();
    team_publish(t, op, SLOT_INLINE, sizeof mine);
    for (uint32_t r = 0; r < t->size; r++) {
        memcpy(&w->addresses[r], team_wait(t, r, op)->data, sizeof w->addresses[r]);
        w->copies_in |= in_cells(w, r);
        w->fetches |= w->addresses[r].from && !remote_addr_local(w->addresses[r].from);
        w->copies_out |= receives(w, r) && !w->addresses[r].to;
    }
    team_note_all_done(t, op - 1);
}

/* Relative costs per byte of combining, and of delivering to another rank's private memory. ns per
 * call on the machine of transport.h: reduce from malloc, 128 KiB: equal segments 18400, five
 * eighths for the root 17300; 1 MiB: 157000, 130000. */
enum { COST_COMBINE = 3, COST_DELIVER = 2 };

/* Divides the vector into segments of complete lines, if the size of elements permits. The root
 * gets a longer one than ranks that deliver their results through the OS. */
static void divide_into_segments(struct segmented *w)
{
    size_t element = w->red->element, bytes = w->begin[w->t->size];
    size_t grain = element < LINE && LINE % element == 0 ? LINE : element;
    size_t other = COST_COMBINE * w->t->peers, root = other, before = 0;
    if (w->receivers == ROOT_ONLY && w->fetches && !w->copies_in)
        root += COST_DELIVER;
    size_t all = other * w->t->peers + root;
    for (uint32_t r = 0; r < w->t->size; r++) {
        w->begin[r] = bytes / grain * before / all * grain;
        before += r == w->root ? root : other;
    }
}

/* The number of parts that need room: a sum and an operand. Between two ranks only one operand is
 * fetched, and the sum may overwrite it. */
static size_t rooms(const struct segmented *w)
{
    return w->t->size == 2 ? 1 : 2;
}

/* Bytes that pass through the caches. */
static size_t moved(const struct segmented *w)
{
    size_t results = w->receivers == ALL_RANKS ? w->t->size : 1;
    return (w->t->size + results) * w->begin[w->t->size];
}

static void plan_segmented(struct segmented *w)
{
    size_t longest = 0, room = SIZE_MAX;
    exchange_addresses(w);
    if (w->receivers == ALL_RANKS || w->receivers == ROOT_ONLY)
        divide_into_segments(w);
    for (uint32_t r = 0; r < w->t->size; r++)
        longest = segment_of(w, r) > longest ? segment_of(w, r) : longest;
    if (w->receivers == EACH_ITS_OWN) {
        w->copies_out = false;
        room = w->copies_in ? PIECE : SIZE_MAX;
    } else if (w->copies_in) {
        room = PIECE / w->t->peers;
    } else if (w->copies_out) {
        room = PIECE;
    }
    w->chunk = room == SIZE_MAX ? longest : room / w->red->element * w->red->element;
    w->steps = longest ? (longest - 1) / w->chunk + 1 : 0;
    w->part = (w->fetches ? ROOM / rooms(w) : PART) / w->red->element * w->red->element;
    w->nontemporal = !w->in_place && !w->fetches && w->receivers != EACH_ITS_OWN &&
                     transport_streams_results(w->begin[w->t->size], moved(w));
    if (w->count == 1 && !w->to.map->without_holes) /* the operand goes directly to the result */
        w->part = w->chunk;
}

/* ---- one step ---- */

/* Where the chunk of rank r is in a piece of the operand of `owner`, which leaves out the owner's
 * own chunk. */
static size_t in_piece(const struct segmented *w, uint32_t owner, uint32_t r)
{
    return w->receivers == EACH_ITS_OWN ? 0 : (r - (r > owner)) * w->chunk;
}

/* Sends the chunks of our operand for the other ranks, if it goes through cells. */
static void publish_chunks(struct segmented *w, uint32_t op, size_t step)
{
    struct team *t = w->t;
    if (!in_cells(w, t->rank))
        return;
    team_wait_cell(t, PIECE);
    char *cell = piece_of(t->own_ring, op);
    uint32_t chunks = w->receivers == EACH_ITS_OWN ? 1 : t->size;
    for (uint32_t r = 0; r < chunks; r++)
        if (r != t->rank || w->receivers == EACH_ITS_OWN) {
            team_copy(t, cell + in_piece(w, t->rank, r), w->from.at + chunk_first(w, r, step),
                      chunk_bytes(w, r, step));
        }
    team_publish(t, op, SLOT_BUFFERED, PIECE);
}

/* Room for parts in the cells of our stream. STREAM_EXTRA bytes in, because
 * the OS copies slowly from a page boundary to memory of malloc(), which starts 16 bytes after one
 * (decision 058). */
static char *room_for(const struct segmented *w, size_t which)
{
    return stream_borrow(w->t) + STREAM_EXTRA + (rooms(w) == 1 ? 0 : which * ROOM / 2);
}

/* Return a part of rank r's operand: `first` is the first byte of our chunk in the vector, `at`
 * the first byte of the part in the chunk. The part is fetched to `room` if necessary. */
static const char *segment_operand(struct segmented *w, uint32_t r, uint32_t in, size_t first,
                                   size_t at, size_t bytes, char *room)
{
    struct team *t = w->t;
    remote_addr_t address = w->addresses[r].from;
    if (r == t->rank)
        return w->from.at + first + at;
    if (!address)
        return piece_of(t->ring[r], in) + in_piece(w, r, t->rank) + at;
    if (remote_addr_local(address))
        return remote_addr_local(address) + first + at;
    if (!remote_read(t, r, address, first + at, room, bytes))
        w->error |= COLL_UNREACHABLE;
    return room;
}

/* `out` is where the result goes, or room of ours. If our own operand may be there, it is written
 * last; if not, a fetched operand may be stored there. */
static void combine_part(struct segmented *w, uint32_t in, size_t first, size_t at, char *out,
                         size_t bytes)
{
    char *space = room_for(w, 0), *other = w->in_place || out == space ? room_for(w, 1) : out;
    bool two = w->count == 2 && w->t->rank < 2; /* at most one operand is fetched */
    char *room = w->count == 1 ? out : two ? other : space;
    const char *sum = segment_operand(w, 0, in, first, at, bytes, room);
    if (w->count == 1 && sum != out)
        copy_bytes(out, sum, bytes);
    for (uint32_t r = 1; r < w->count; r++) {
        char *next = r + 1 < w->count ? space : out;
        reducer_combine(w->red, next, sum, segment_operand(w, r, in, first, at, bytes, other),
                        bytes);
        sum = next;
    }
}

static void store_result(const struct segmented *w, char *to, const char *part, size_t bytes)
{
    if (w->nontemporal)
        copy_nontemporal(to, part, bytes);
    else
        copy_bytes(to, part, bytes);
}

/* Writes a part of the result to the buffers of other ranks that we can access. */
static void deliver_part(struct segmented *w, const char *part, size_t first, size_t bytes)
{
    struct team *t = w->t;
    for (uint32_t r = 0; r < t->size; r++) {
        remote_addr_t address = w->addresses[r].to;
        if (r == t->rank || !receives(w, r) || !address)
            continue;
        if (remote_addr_local(address))
            store_result(w, remote_addr_local(address) + first, part, bytes);
        else if (!remote_write(t, r, address, first, part, bytes))
            w->error |= COLL_UNREACHABLE;
    }
}

/* Combines our chunk of the step. `in` and `out`: the operations with operands and results. */
static void combine_chunk(struct segmented *w, uint32_t in, uint32_t out, size_t step)
{
    struct team *t = w->t;
    size_t first = chunk_first(w, t->rank, step), bytes = chunk_bytes(w, t->rank, step);
    size_t to = w->receivers == OWNERS ? step * w->chunk : first;
    bool ours = w->receivers >= OWNERS || receives(w, t->rank);
    bool direct = ours && !w->to.map->without_holes;
    for (size_t at = 0; at < bytes && w->count; at += w->part) {
        size_t part = min_size(w->part, bytes - at);
        char *cell = w->copies_out ? piece_of(t->own_ring, out) + at : NULL;
        char *sum = direct && !w->nontemporal ? w->to.at + to + at : cell ? cell : room_for(w, 0);
        combine_part(w, in, first, at, sum, part);
        if (ours && !direct)
            reducer_write(w->red, w->to, to + at, sum, part);
        else if (ours && w->nontemporal)
            store_result(w, w->to.at + to + at, sum, part);
        if (cell && cell != sum)
            copy_bytes(cell, sum, part);
        deliver_part(w, sum, first + at, part);
    }
}

/* Reads the results of other ranks from their cells, if they could not write to our buffer. */
static void receive_results(const struct segmented *w, uint32_t out, size_t step)
{
    struct team *t = w->t;
    if (!receives(w, t->rank) || w->addresses[t->rank].to)
        return;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t bytes = chunk_bytes(w, r, step);
        if (r == t->rank || !bytes)
            continue;
        size_t first = chunk_first(w, r, step);
        team_wait(t, r, out);
        const char *piece = piece_of(t->ring[r], out);
        if (w->nontemporal && !w->to.map->without_holes)
            store_result(w, w->to.at + first, piece, bytes);
        else
            reducer_write(w->red, w->to, first, piece, bytes);
    }
}

static void wait_for_operands(const struct segmented *w, uint32_t in)
{
    for (uint32_t r = 0; r < w->t->size; r++)
        if (in_cells(w, r) && r != w->t->rank)
            team_wait(w->t, r, in);
}

/* ---- all steps ---- */

static enum coll_error run_segmented(struct segmented *w)
{
    struct team *t = w->t;
    uint32_t in = 0, out = 0;
    plan_segmented(w);
    for (size_t step = 0; step < w->steps; step++) {
        uint32_t results = out;
        if (w->copies_in) {
            in = team_begin_piece(t);
            publish_chunks(w, in, step);
        }
        uint32_t begun = t->op;
        if (w->copies_out) {
            out = team_begin_piece(t);
            if (step)
                receive_results(w, results, step - 1);
            team_done(t, w->copies_in ? in - 1 : begun);
            team_wait_cell(t, PIECE);
        }
        if (w->copies_in)
            wait_for_operands(w, in);
        combine_chunk(w, in, out, step);
        if (w->copies_out)
            team_publish(t, out, SLOT_BUFFERED, w->chunk);
        else
            team_end(t);
    }
    if (w->copies_out)
        receive_results(w, out, w->steps - 1);
    bool all_copied = w->copies_in && w->copies_out;
    for (uint32_t r = 0; r < t->size && all_copied; r++)
        all_copied = !w->addresses[r].from && !w->addresses[r].to;
    if (!all_copied)
        coll_barrier(t);
    team_note_refusals(t);
    team_done(t, t->op);
    return w->error;
}

enum coll_error segmented_reduce(struct team *t, const struct reducer *red, struct buffer from,
                                 struct buffer to, uint32_t root)
{
    size_t *begin = team_table(t, TABLE_SEGMENTS);
    begin[t->size] = reducer_bytes(red, from);
    struct segmented w = {.t = t,
                          .red = red,
                          .from = from,
                          .to = to,
                          .receivers = root == REDUCE_FOR_ALL ? ALL_RANKS : ROOT_ONLY,
                          .root = root,
                          .count = t->size,
                          .begin = begin,
                          .in_place = from.at == to.at};
    return run_segmented(&w);
}

enum coll_error segmented_reduce_scatter(struct team *t, const struct reducer *red,
                                         struct buffer from, struct buffer to, size_t *begin,
                                         bool in_vector)
{
    struct segmented w = {.t = t,
                          .red = red,
                          .from = from,
                          .to = to,
                          .receivers = in_vector ? OWNERS_IN_VECTOR : OWNERS,
                          .count = t->size,
                          .begin = begin,
                          .in_place = from.at == to.at};
    return run_segmented(&w);
}

enum coll_error segmented_scan(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to, bool exclusive)
{
    size_t *begin = team_table(t, TABLE_SEGMENTS);
    begin[t->size] = reducer_bytes(red, from);
    struct segmented w = {.t = t,
                          .red = red,
                          .from = from,
                          .to = to,
                          .receivers = EACH_ITS_OWN,
                          .count = t->rank + !exclusive,
                          .begin = begin,
                          .in_place = from.at == to.at};
    return run_segmented(&w);
}
