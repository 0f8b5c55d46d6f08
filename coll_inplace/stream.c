#include "coll_inplace/stream.h"

/* Written again later, a line goes to a peer and comes back in half the time; where both streams of
 * an exchange go through their four cells, 1 MiB takes 210 us, and 110 through sixteen. */
enum { LONG_FROM = STREAM_CELLS_LONG * STREAM_CELL / 2 };

uint32_t stream_start(struct team *t)
{
    return atomic_load_explicit(&t->mine->produced.value, memory_order_relaxed);
}

struct stream stream_out(struct team *t, struct buffer data, uint32_t start)
{
    size_t bytes = bytes_of(data);
    if (bytes > LONG_FROM && t->mine->stream_cells < STREAM_CELLS_LONG)
        mailbox_lengthen_stream(t->mine);
    return (struct stream){t, t->mine, start, stream_pieces(bytes), 0, data, bytes};
}

struct stream stream_in(struct team *t, uint32_t rank, struct buffer data, size_t bytes,
                        uint32_t start)
{
    return (struct stream){t, t->mailbox[rank], start, stream_pieces(bytes), 0, data, bytes};
}

struct stream stream_none(struct team *t)
{
    return (struct stream){.team = t, .mailbox = t->mine};
}

static size_t piece_first(const struct stream *s)
{
    return s->next * (size_t)STREAM_CELL;
}

static size_t piece_bytes(const struct stream *s)
{
    return min_size(STREAM_CELL, s->bytes - piece_first(s));
}

static bool give(struct stream *s, uint32_t consumed)
{
    if (s->next == s->pieces ||
        !sync_reached(consumed, s->start + s->next + 1 - s->mailbox->stream_cells))
        return false;
    team_fill(s->team, stream_cell(s->mailbox, s->start + s->next), s->data, piece_first(s),
              piece_bytes(s));
    s->next++;
    sync_publish(&s->mailbox->produced, s->start + s->next);
    return true;
}

static bool take(struct stream *s, uint32_t limit, uint32_t produced, enum coll_error *error)
{
    if (s->next >= limit || !sync_reached(produced, s->start + s->next + 1))
        return false;
    *error |= coll_take(s->data, piece_first(s), stream_cell(s->mailbox, s->start + s->next),
                        piece_bytes(s));
    s->next++;
    sync_publish(&s->mailbox->consumed, s->start + s->next);
    return true;
}

/* Where nothing moves we sleep on what the next move needs, with the count that we saw: while
 * somebody else's stream goes through the mailbox it is not where ours starts. */
enum coll_error stream_run(struct stream *out, struct stream *in, bool in_place)
{
    enum coll_error error = COLL_OK;
    struct sync_wait wait = SYNC_WAIT;
    while (out->next < out->pieces || in->next < in->pieces) {
        uint32_t consumed = sync_load(&out->mailbox->consumed);
        uint32_t produced = sync_load(&in->mailbox->produced);
        bool gave = give(out, consumed);
        bool all_out = !in_place || out->next == out->pieces;
        uint32_t limit = all_out || in->pieces < out->next ? in->pieces : out->next;
        bool took = take(in, limit, produced, &error);
        if (gave || took)
            wait = SYNC_WAIT;
        else if (in->next < limit)
            sync_wait(&wait, &in->mailbox->produced, produced);
        else
            sync_wait(&wait, &out->mailbox->consumed, consumed);
    }
    if (out->pieces)
        sync_wait_until(&out->mailbox->consumed, out->start + out->pieces);
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
