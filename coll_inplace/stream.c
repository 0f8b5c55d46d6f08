#include "coll_inplace/stream.h"

#include "coll_inplace/receive.h"

/* Longer streams use more cells: a line that is rewritten later travels to the peer and back in
 * half the time. An exchange of 1 MiB takes 210 us through four cells each way, 110 through
 * sixteen. */
enum { LONG_FROM = STREAM_CELLS_LONG * STREAM_CELL / 2 };

struct stream stream_out(struct team *t, struct buffer data, uint32_t start)
{
    size_t bytes = bytes_of(data);
    assert(sync_load(&t->mine->consumed) == start); /* no stream of ours is in progress */
    team_use_cells(t);
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

struct stream stream_of_partner(struct team *t, uint32_t rank, const struct slot *slot,
                                struct buffer data)
{
    size_t bytes = slot_bytes(slot);
    uint32_t first = first_partner(rank, t->size, t->group);
    uint32_t turn = (t->rank + t->group - first) % t->group;
    return stream_in(t, rank, data, bytes, slot_stream_start(slot) + turn * stream_pieces(bytes));
}

static size_t piece_first(const struct stream *s)
{
    return s->next * (size_t)STREAM_CELL;
}

static size_t piece_bytes(const struct stream *s)
{
    return min_size(STREAM_CELL, s->bytes - piece_first(s));
}

/* Send the next piece if a cell is free. */
static bool produce(struct stream *s, uint32_t consumed)
{
    if (s->next == s->pieces ||
        !sync_reached(consumed, s->start + s->next + 1 - s->mailbox->stream_cells))
        return false;
    team_fill(s->team, stream_cell(s->mailbox, s->start + s->next), s->data, piece_first(s),
              piece_bytes(s));
    assert(sync_load(&s->mailbox->produced) == s->start + s->next); /* only we write it */
    s->next++;
    sync_publish(&s->mailbox->produced, s->start + s->next);
    return true;
}

/* Receive the next piece if it has been sent, up to piece number `limit`. */
static bool consume(struct stream *s, uint32_t limit, uint32_t produced, enum coll_error *error)
{
    if (s->next >= limit || !sync_reached(produced, s->start + s->next + 1))
        return false;
    *error |= receive_bytes(s->data, piece_first(s), stream_cell(s->mailbox, s->start + s->next),
                            piece_bytes(s));
    assert(sync_load(&s->mailbox->consumed) ==
           s->start + s->next); /* only the receiver writes it */
    s->next++;
    sync_publish(&s->mailbox->consumed, s->start + s->next);
    return true;
}

/* If neither stream can advance, this rank sleeps on the counter that its next move needs, from the
 * value that it has read. (That value need not be the start of our stream: a stream to another rank
 * may still use the mailbox.) */
enum coll_error stream_run(struct stream *out, struct stream *in, bool in_place)
{
    enum coll_error error = COLL_OK;
    struct sync_wait wait = SYNC_WAIT;
    while (out->next < out->pieces || in->next < in->pieces) {
        uint32_t consumed = sync_load(&out->mailbox->consumed);
        uint32_t produced = sync_load(&in->mailbox->produced);
        bool has_sent = produce(out, consumed);
        bool all_sent = !in_place || out->next == out->pieces;
        uint32_t limit = all_sent || in->pieces < out->next ? in->pieces : out->next;
        bool has_received = consume(in, limit, produced, &error);
        if (has_sent || has_received)
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

void stream_send(struct team *t, struct buffer data)
{
    struct stream out = stream_out(t, data, team_stream_start(t)), in = stream_none(t);
    stream_run(&out, &in, false);
}

enum coll_error stream_receive(struct team *t, struct stream in)
{
    struct stream out = stream_none(t);
    return stream_run(&out, &in, false);
}
