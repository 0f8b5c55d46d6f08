#include "coll_inplace/stream.h"

_Static_assert(FILL_WINDOW / 2 >= STREAM_CELLS_LONG, "else each cell is timed as it is fetched");

/* Written again later, a line goes to a peer and comes back in half the time; where both streams of
 * an exchange go through their four cells, 1 MiB takes 210 us, and 110 through sixteen. */
enum { LONG_FROM = STREAM_CELLS_LONG * STREAM_CELL / 2 };

/* Who uses them again after some of the kernel's turn, or has for so many pieces, is at it for long
 * enough to have wide ones. */
enum { WIDE_FROM = 1024 };

uint32_t stream_start(struct team *t)
{
    return atomic_load_explicit(&t->mine->produced.value, memory_order_relaxed);
}

static void widen(struct team *t, size_t bytes)
{
    struct row *row = t->mine;
    if (row->stream_cells == STREAM_CELLS_WIDE || !bytes)
        return;
    t->streamed += (uint32_t)min_size(stream_pieces(bytes), WIDE_FROM);
    bool pays = t->streamed >= WIDE_FROM || t->pace.patience || config.wide_cells == WIDE_ALWAYS;
    if (pays && !t->stream_tried && team_may_be_wide(t)) {
        t->stream_tried = true;
        row_widen_stream(row, STREAM_CELLS_WIDE);
    }
    if (row->stream_cells == STREAM_CELLS_WIDE)
        t->exchange.window = 2 * STREAM_CELLS_WIDE;
    if (bytes > LONG_FROM && row->stream_cells < STREAM_CELLS_LONG)
        row_widen_stream(row, STREAM_CELLS_LONG);
}

struct stream stream_out(struct team *t, struct buffer data, uint32_t start)
{
    size_t bytes = bytes_of(data);
    widen(t, bytes);
    return (struct stream){t, t->mine, start, stream_pieces(bytes), 0, data, bytes};
}

struct stream stream_in(struct team *t, uint32_t rank, struct buffer data, size_t bytes,
                        uint32_t start)
{
    return (struct stream){t, t->row[rank], start, stream_pieces(bytes), 0, data, bytes};
}

struct stream stream_none(struct team *t)
{
    return (struct stream){.team = t, .row = t->mine};
}

static size_t piece_first(const struct stream *s)
{
    return s->next * (size_t)STREAM_CELL;
}

static size_t piece_bytes(const struct stream *s)
{
    return min_size(STREAM_CELL, s->bytes - piece_first(s));
}

/* What is overwritten in place the kernel cannot copy. */
static void fill_cell(struct stream *s, char *cell, bool in_place)
{
    const struct typemap *map = typemap_to_move(s->data.map);
    if (in_place && map->contiguous)
        fill_only(&s->team->exchange, cell, s->data.at + map->low + piece_first(s), piece_bytes(s));
    else
        team_fill_piece(s->team, cell, s->data, piece_first(s), piece_bytes(s));
}

static bool give(struct stream *s, uint32_t consumed, bool in_place)
{
    if (s->next == s->pieces ||
        !sync_reached(consumed, s->start + s->next + 1 - s->row->stream_cells))
        return false;
    fill_cell(s, stream_cell(s->row, s->start + s->next), in_place);
    s->next++;
    sync_publish(&s->row->produced, s->start + s->next);
    return true;
}

static bool take(struct stream *s, uint32_t limit, uint32_t produced, enum coll_error *error)
{
    if (s->next >= limit || !sync_reached(produced, s->start + s->next + 1))
        return false;
    *error |=
        coll_take(s->data, piece_first(s), stream_cell(s->row, s->start + s->next), piece_bytes(s));
    s->next++;
    sync_publish(&s->row->consumed, s->start + s->next);
    return true;
}

/* A piece of so many bytes has gone, and another come. */
static void time_exchange(struct team *t, uint64_t start, size_t bytes)
{
    uint64_t now = sync_ticks();
    if (bytes >= FILL_SAMPLE)
        fill_took(&t->exchange, now - start, bytes, now);
}

/* Where nothing moves we sleep on what the next move needs, with the count that we saw: while
 * somebody else's stream goes through the row it is not where ours starts. */
enum coll_error stream_run(struct stream *out, struct stream *in, bool in_place)
{
    enum coll_error error = COLL_OK;
    struct sync_wait wait = SYNC_WAIT;
    while (out->next < out->pieces || in->next < in->pieces) {
        uint32_t consumed = sync_load(&out->row->consumed);
        uint32_t produced = sync_load(&in->row->produced);
        uint64_t start = in_place ? sync_ticks() : 0;
        size_t bytes = out->next < out->pieces ? piece_bytes(out) : 0;
        bool gave = give(out, consumed, in_place);
        bool all_out = !in_place || out->next == out->pieces;
        uint32_t limit = all_out || in->pieces < out->next ? in->pieces : out->next;
        bool took = take(in, limit, produced, &error);
        if (in_place && gave && took)
            time_exchange(out->team, start, bytes);
        if (gave || took)
            wait = SYNC_WAIT;
        else if (in->next < limit)
            sync_wait(&wait, &in->row->produced, produced);
        else
            sync_wait(&wait, &out->row->consumed, consumed);
    }
    if (out->pieces)
        sync_await(&out->row->consumed, out->start + out->pieces);
    return error;
}

void stream_give(struct team *t, struct buffer data)
{
    struct stream out = stream_out(t, data, stream_start(t)), in = stream_none(t);
    stream_run(&out, &in, false);
}

enum coll_error stream_take(struct team *t, struct stream in)
{
    struct stream out = stream_none(t);
    return stream_run(&out, &in, false);
}
