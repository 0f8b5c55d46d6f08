#include "coll_inplace/reduce_segmented.h"

#include "alloc/arena.h"
#include "coll_inplace/stream.h"

/* Each rank first publishes where the other ranks read its operand and write its result. 0: the
 * other ranks cannot do so, or need not. */
struct addresses {
    remote_addr_t from, to;
};
_Static_assert(sizeof(struct addresses) == 2 * sizeof(uint64_t), "an entry of TABLE_PAIRS");

/* A part of a chunk stays in the first-level cache; if operands are fetched through the OS, it is
 * as long as the room for them, so that it is worth a system call. */
enum { PART = TEAM_CELL, ROOM = STREAM_CELLS * STREAM_CELL };

/* What one rank combines: a chunk of the operands of ranks 0 .. count - 1 in each step. */
struct combination {
    struct team *t;
    const struct reducer *red;
    struct buffer from, to; /* `to.map` NULL: this rank receives no result */
    uint32_t count;
    uint32_t readable; /* other ranks read the operands of ranks 0 .. readable - 1 */
    bool in_place;
    bool copied, fetched; /* some operand goes through cells; some operand is private */
    bool nontemporal;     /* results are written with non-temporal stores */
    size_t part;          /* bytes of a chunk that are combined at a time */
    size_t stride;        /* see in_piece() */
    struct addresses *addresses;
    char *held; /* see hold_vector(), as are the next members; or NULL */
    size_t held_bytes;
    struct buffer result;
    struct run run;
    struct typemap map;
    enum coll_error error;
};

static struct combination combination_of(struct team *t, const struct reducer *red,
                                         struct buffer from, struct buffer to)
{
    return (struct combination){.t = t,
                                .red = red,
                                .from = from,
                                .to = to,
                                .count = t->size,
                                .readable = t->size,
                                .in_place = from.at == to.at};
}

static size_t whole_elements(const struct combination *w, size_t bytes)
{
    return bytes / w->red->element * w->red->element;
}

/* ---- held vectors ---- */

static bool in_heap(remote_addr_t address)
{
    return address && remote_addr_local(address);
}

/* Copy our operand into memory that the other ranks access, and, if there is a result, let them
 * write it there: each rank writes only what it alone has read. Without memory, our buffers are
 * used where they are. */
static void hold_vector(struct combination *w, size_t bytes, struct buffer result)
{
    w->held = arena_control_alloc_raw(bytes);
    if (!w->held)
        return;
    reducer_read(w->red, w->held, w->from, 0, bytes);
    w->held_bytes = bytes;
    w->result = result;
    w->map = typemap_of_bytes(&w->run, bytes);
    w->from = (struct buffer){w->held, &w->map, 1};
    if (result.map)
        w->to = w->from;
    w->in_place = w->from.at == w->to.at;
}

/* No other rank accesses the memory any more. */
static void release_vector(struct combination *w)
{
    if (!w->held)
        return;
    if (w->result.map)
        reducer_write(w->red, w->result, 0, w->held, w->held_bytes);
    arena_control_free(w->held);
}

/* ---- operands ---- */

/* Whether the operand of a rank goes through cells. */
static bool in_cells(const struct combination *w, uint32_t rank)
{
    return rank < w->readable && !w->addresses[rank].from;
}

/* The number of parts that need room: a sum and an operand. Between two ranks only one operand is
 * fetched, and the sum may overwrite it. */
static size_t rooms(const struct combination *w)
{
    return w->t->size == 2 ? 1 : 2;
}

static void exchange_addresses(struct combination *w, remote_addr_t from, remote_addr_t to)
{
    struct team *t = w->t;
    struct addresses mine = {from, to};
    w->addresses = team_table(t, TABLE_PAIRS);
    uint32_t op = team_begin(t);
    team_wait_slot(t);
    memcpy(slot_of(t->own_ring, op)->data, &mine, sizeof mine);
    sync_store_fence();
    team_publish(t, op, SLOT_INLINE, sizeof mine);
    for (uint32_t r = 0; r < t->size; r++) {
        memcpy(&w->addresses[r], team_wait(t, r, op)->data, sizeof w->addresses[r]);
        w->copied |= in_cells(w, r);
        w->fetched |= w->addresses[r].from && !remote_addr_local(w->addresses[r].from);
    }
    team_note_all_done(t, op - 1);
    w->part = whole_elements(w, w->fetched ? ROOM / rooms(w) : PART);
}

/* Where the chunk for rank r is in a piece of the operand of `owner`. The owner leaves out its own
 * chunk. If all ranks need the same chunk, `stride` is 0. */
static size_t in_piece(const struct combination *w, uint32_t owner, uint32_t r)
{
    return (r - (r > owner)) * w->stride;
}

static void wait_for_operands(const struct combination *w, uint32_t in)
{
    for (uint32_t r = 0; r < w->t->size; r++)
        if (in_cells(w, r) && r != w->t->rank)
            team_wait(w->t, r, in);
}

/* Room for parts in the cells of our stream. It begins STREAM_EXTRA bytes into them, because the OS
 * copies slowly from a page boundary to memory of malloc(), which starts 16 bytes after one
 * (decision 058). */
static char *room_for(const struct combination *w, size_t which)
{
    return stream_borrow(w->t) + STREAM_EXTRA + (rooms(w) == 1 ? 0 : which * ROOM / 2);
}

/* Return a part of rank r's operand: `first` is the first byte of our chunk in the vector, `at`
 * the first byte of the part in the chunk. The part is fetched to `room` if necessary. */
static const char *segment_operand(struct combination *w, uint32_t r, uint32_t in, size_t first,
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

/* ---- combining ---- */

/* `out` is where the result goes, or room of ours. If our own operand may be at `out`, `out` is
 * written last; if not, a fetched operand may be stored there. */
static void combine_part(struct combination *w, uint32_t in, size_t first, size_t at, char *out,
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

/* Write to our result, from byte `at` on. */
static void write_result(const struct combination *w, size_t at, const char *from, size_t bytes)
{
    if (w->nontemporal && !w->to.map->without_holes)
        copy_nontemporal(w->to.at + at, from, bytes);
    else
        reducer_write(w->red, w->to, at, from, bytes);
}

/* Write a part of the result to the buffers of other ranks that we can access, beginning with the
 * next rank, so that not all ranks write to the same one. */
static void deliver_part(struct combination *w, const char *part, size_t first, size_t bytes)
{
    struct team *t = w->t;
    for (uint32_t i = 1; i < t->size; i++) {
        uint32_t r = t->rank + i < t->size ? t->rank + i : t->rank + i - t->size;
        remote_addr_t address = w->addresses[r].to;
        char *local = remote_addr_local(address);
        if (!address)
            continue;
        if (local && w->nontemporal)
            copy_nontemporal(local + first, part, bytes);
        else if (local)
            copy_bytes(local + first, part, bytes);
        else if (!remote_write(t, r, address, first, part, bytes))
            w->error |= COLL_UNREACHABLE;
    }
}

/* Combine our chunk: bytes [first, first + bytes) of all operands. Operands that go through cells
 * are in the cells of the operation `in`. The sum goes to our result from byte `to` on, to `cell`
 * unless it is NULL, and to the results of other ranks. */
static void combine_chunk(struct combination *w, uint32_t in, size_t first, size_t bytes, size_t to,
                          char *cell)
{
    bool direct = w->to.map && !w->to.map->without_holes && !w->nontemporal;
    for (size_t at = 0; at < bytes && w->count; at += w->part) {
        size_t part = min_size(w->part, bytes - at);
        char *copy = cell ? cell + at : NULL;
        char *sum = direct ? w->to.at + to + at : copy ? copy : room_for(w, 0);
        combine_part(w, in, first, at, sum, part);
        if (w->to.map && !direct)
            write_result(w, to + at, sum, part);
        if (copy && copy != sum)
            copy_bytes(copy, sum, part);
        deliver_part(w, sum, first + at, part);
    }
}

static enum coll_error finish_segments(struct combination *w, bool others_access_buffers)
{
    if (others_access_buffers) {
        barrier_wait(&w->t->barrier);
        team_note_all_done(w->t, w->t->op);
    }
    release_vector(w);
    team_note_refusals(w->t);
    team_done(w->t, w->t->op);
    return w->error;
}

/* ---- one segment per rank ---- */

/* The segment of rank r is bytes [begin[r], begin[r + 1]) of the vector. */
struct segments {
    size_t *begin;
    size_t longest, chunk; /* bytes of a segment, and of a chunk of it: one per step */
};

static size_t chunk_first(const struct segments *s, uint32_t rank, size_t step)
{
    return s->begin[rank] + step * s->chunk;
}

static size_t chunk_bytes(const struct segments *s, uint32_t rank, size_t step)
{
    size_t segment = s->begin[rank + 1] - s->begin[rank], done = step * s->chunk;
    return done < segment ? min_size(s->chunk, segment - done) : 0;
}

/* Choose the length of a chunk. `copies`: results go through cells, too. */
static void choose_chunk(struct combination *w, struct segments *s, bool copies)
{
    for (uint32_t r = 0; r < w->t->size; r++) {
        size_t segment = s->begin[r + 1] - s->begin[r];
        s->longest = segment > s->longest ? segment : s->longest;
    }
    s->chunk = w->copied ? whole_elements(w, PIECE / w->t->peers)
               : copies  ? whole_elements(w, PIECE)
                         : s->longest;
    w->stride = s->chunk;
}

/* Send the chunks of our operand for the other ranks, if it goes through cells. Returns the number
 * of the operation. */
static uint32_t begin_step(const struct combination *w, const struct segments *s, size_t step)
{
    struct team *t = w->t;
    if (!w->copied)
        return t->op;
    uint32_t op = team_begin_piece(t);
    if (!in_cells(w, t->rank))
        return op;
    team_wait_cell(t, PIECE);
    char *cell = piece_of(t->own_ring, op);
    for (uint32_t r = 0; r < t->size; r++)
        if (r != t->rank)
            team_copy(t, cell + in_piece(w, t->rank, r), w->from.at + chunk_first(s, r, step),
                      chunk_bytes(s, r, step));
    team_publish(t, op, SLOT_BUFFERED, PIECE);
    return op;
}

/* Whether results are written with non-temporal stores. `results`: how many ranks receive the
 * complete result. */
static bool streams_results(const struct combination *w, size_t bytes, size_t results)
{
    return !w->in_place && !w->fetched &&
           transport_streams_results(bytes, (w->t->size + results) * bytes);
}

/* Combine our segment in a call in which no results go through cells. The result goes to our
 * buffer, from byte `to` on. */
static void combine_segments(struct combination *w, const struct segments *s, size_t to)
{
    uint32_t self = w->t->rank;
    for (size_t step = 0; step * s->chunk < s->longest; step++) {
        uint32_t in = begin_step(w, s, step);
        wait_for_operands(w, in);
        combine_chunk(w, in, chunk_first(s, self, step), chunk_bytes(s, self, step),
                      to + step * s->chunk, NULL);
        team_end(w->t);
    }
}

/* ---- MPI_Reduce_scatter: each rank keeps the result of its segment ---- */

enum coll_error segmented_reduce_scatter(struct team *t, const struct reducer *red,
                                         struct buffer from, struct buffer to, size_t *begin,
                                         bool in_vector)
{
    struct combination w = combination_of(t, red, from, to);
    struct segments s = {.begin = begin};
    size_t bytes = begin[t->size];
    /* At the start of the vector, the result would overwrite operands that other ranks read. */
    bool overwrites = w.in_place && !in_vector;
    remote_addr_t operand = overwrites ? 0 : remote_addr_to_read(t, from, bytes);
    if (transport_holds_vector(t->size, bytes) && !in_heap(operand))
        hold_vector(&w, bytes, (struct buffer){0});
    exchange_addresses(&w, w.held ? remote_addr_of(w.held) : operand, 0);
    choose_chunk(&w, &s, false);
    w.nontemporal = streams_results(&w, bytes, 1);
    combine_segments(&w, &s, in_vector ? begin[t->rank] : 0);
    return finish_segments(&w, true);
}

/* ---- MPI_Reduce and MPI_Allreduce: all segments' results are for the root, or all ranks ---- */

static bool is_receiver(uint32_t root, uint32_t rank)
{
    return root == REDUCE_FOR_ALL || root == rank;
}

/* Relative costs per byte of combining, and of delivering to another rank's private memory. ns per
 * call on the machine of transport.h: reduce from malloc, 128 KiB: equal segments 18400, five
 * eighths for the root 17300; 1 MiB: 157000, 130000. */
enum { COST_COMBINE = 3, COST_DELIVER = 2 };

/* Divide the vector into segments of complete lines, if the size of elements permits. The root gets
 * a longer segment than ranks that deliver their results through the OS. */
static void divide_into_segments(const struct combination *w, size_t *begin, size_t bytes,
                                 uint32_t root)
{
    size_t element = w->red->element, grain = LINE % element == 0 ? LINE : element;
    size_t others = (size_t)COST_COMBINE * w->t->peers, of_root = others, before = 0;
    if (root != REDUCE_FOR_ALL && w->fetched && !w->copied)
        of_root += COST_DELIVER;
    size_t all = others * w->t->peers + of_root;
    for (uint32_t r = 0; r < w->t->size; r++) {
        begin[r] = bytes / grain * before / all * grain;
        before += r == root ? of_root : others;
    }
    begin[w->t->size] = bytes;
}

/* Whether some result goes through cells, and some buffer is accessed by other ranks. */
struct access {
    bool copies, by_reference;
};

static struct access access_of(const struct combination *w, uint32_t root)
{
    struct access access = {0};
    for (uint32_t r = 0; r < w->t->size; r++) {
        access.copies |= is_receiver(root, r) && !w->addresses[r].to;
        access.by_reference |= w->addresses[r].from || w->addresses[r].to;
    }
    return access;
}

/* Read the results of other ranks from their cells, if they could not write to our buffer. */
static void receive_results(const struct combination *w, const struct segments *s, uint32_t out,
                            size_t step)
{
    struct team *t = w->t;
    if (!w->to.map || w->addresses[t->rank].to)
        return;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t bytes = chunk_bytes(s, r, step);
        if (r == t->rank || !bytes)
            continue;
        team_wait(t, r, out);
        write_result(w, chunk_first(s, r, step), piece_of(t->ring[r], out), bytes);
    }
}

/* The results of a step are in an operation that follows the one with its operands. */
static void reduce_through_cells(struct combination *w, const struct segments *s)
{
    struct team *t = w->t;
    uint32_t out = 0;
    size_t step = 0;
    for (; step * s->chunk < s->longest; step++) {
        uint32_t results = out, in = begin_step(w, s, step);
        out = team_begin_piece(t);
        if (step)
            receive_results(w, s, results, step - 1);
        team_done(t, w->copied ? in - 1 : in);
        team_wait_cell(t, PIECE);
        wait_for_operands(w, in);
        size_t first = chunk_first(s, t->rank, step);
        combine_chunk(w, in, first, chunk_bytes(s, t->rank, step), first,
                      piece_of(t->own_ring, out));
        team_publish(t, out, SLOT_BUFFERED, s->chunk);
    }
    receive_results(w, s, out, step - 1);
}

enum coll_error segmented_reduce(struct team *t, const struct reducer *red, struct buffer from,
                                 struct buffer to, uint32_t root)
{
    struct combination w = combination_of(t, red, from, to);
    struct segments s = {.begin = team_table(t, TABLE_SEGMENTS)};
    size_t bytes = reducer_bytes(red, from);
    bool receives = is_receiver(root, t->rank);
    remote_addr_t operand = remote_addr_to_read(t, from, bytes);
    /* Not remote_addr_to_write(): private results go through cells if the policy prefers them. */
    remote_addr_t address = receives ? remote_addr_to_read(t, to, bytes) : 0;
    if (!receives)
        to.map = w.to.map = NULL;
    if (transport_holds_vector(t->size, bytes) &&
        !(in_heap(operand) && (!receives || in_heap(address))))
        hold_vector(&w, bytes, to);
    if (w.held) {
        operand = remote_addr_of(w.held);
        address = receives ? operand : 0;
    }
    exchange_addresses(&w, operand, address);
    struct access access = access_of(&w, root);
    divide_into_segments(&w, s.begin, bytes, root);
    choose_chunk(&w, &s, access.copies);
    w.nontemporal = streams_results(&w, bytes, root == REDUCE_FOR_ALL ? t->size : 1);
    if (access.copies)
        reduce_through_cells(&w, &s);
    else
        combine_segments(&w, &s, s.begin[t->rank]);
    return finish_segments(&w, access.by_reference);
}

/* ---- MPI_Scan and MPI_Exscan: each rank combines the complete vector for itself ---- */

enum coll_error segmented_scan(struct team *t, const struct reducer *red, struct buffer from,
                               struct buffer to, bool exclusive)
{
    struct combination w = combination_of(t, red, from, to);
    w.count = t->rank + !exclusive;
    w.readable = t->size - 1;
    size_t bytes = reducer_bytes(red, from);
    /* In place, the result would overwrite what other ranks read. */
    bool is_read = t->rank < w.readable && !w.in_place;
    exchange_addresses(&w, is_read ? remote_addr_to_scan(t, from, bytes) : 0, 0);
    size_t chunk = w.copied ? whole_elements(&w, PIECE) : bytes;
    if (w.count == 1 && !to.map->without_holes) /* the operand goes directly to the result */
        w.part = chunk;
    for (size_t at = 0; at < bytes; at += chunk) {
        size_t some = min_size(chunk, bytes - at);
        uint32_t in = w.copied ? team_begin_piece(t) : t->op;
        if (in_cells(&w, t->rank)) {
            team_wait_cell(t, PIECE);
            team_copy(t, piece_of(t->own_ring, in), from.at + at, some);
            team_publish(t, in, SLOT_BUFFERED, PIECE);
        }
        wait_for_operands(&w, in);
        combine_chunk(&w, in, at, some, at, NULL);
        team_end(t);
    }
    return finish_segments(&w, true);
}
