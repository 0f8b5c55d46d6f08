/* Streams: long data between two ranks, in pieces, if only these two ranks have the length.
 *
 * Every rank writes one stream at a time, through the stream cells of its mailbox. The number and
 * position of the cells change only between two streams. `produced` counts the pieces that the rank
 * has written since the team was created; only the rank writes it. `consumed` counts the pieces
 * that were read; the receiver of the stream writes it. A stream ends when all its pieces are
 * consumed, so the next receiver finds equal counters and is the only one that writes `consumed`.
 * The producer publishes in a slot the count at which its stream starts.
 */
#ifndef MPIACCEL_STREAM_H
#define MPIACCEL_STREAM_H

#include "coll_inplace/coll.h"

#include <assert.h>

struct stream {
    struct team *team;
    struct mailbox *mailbox; /* of the producer */
    uint32_t start;          /* the producer's count before the first piece */
    uint32_t pieces, next;
    struct buffer data; /* our buffer */
    size_t bytes;
};

static inline uint32_t stream_pieces(size_t bytes)
{
    return (uint32_t)((bytes + STREAM_CELL - 1) / STREAM_CELL);
}

/* The stream by which this rank sends `data`. */
struct stream stream_out(struct team *team, struct buffer data, uint32_t start);
/* The stream by which `rank` sends `bytes` bytes, which are received into `data`. */
struct stream stream_in(struct team *team, uint32_t rank, struct buffer data, size_t bytes,
                        uint32_t start);
/* A stream of no pieces, for stream_run() in one direction only. */
struct stream stream_none(struct team *team);

/* The start of the stream that a slot of SLOT_PIPELINED announces. */
static inline uint32_t slot_stream_start(const struct slot *slot)
{
    uint32_t start;
    memcpy(&start, slot->data, sizeof start);
    return start;
}

/* For intercommunicators, where the slot announces equal data for each rank of our group: the
 * stream of `rank` to us. Streams follow in the order of partners. */
struct stream stream_of_partner(struct team *team, uint32_t rank, const struct slot *slot,
                                struct buffer data);

/* Run both streams to their end. `in_place` states that both have the same buffer: then a piece is
 * received only after the piece in its place was sent. */
enum coll_error stream_run(struct stream *out, struct stream *in, bool in_place);

/* Returns the room of the cells of our stream (STREAM_CELLS * STREAM_CELL + STREAM_EXTRA bytes),
 * for use until this operation ends or we send a stream. No stream of ours may be in progress. */
static inline char *stream_borrow(struct team *t)
{
    assert(atomic_load_explicit(&t->mine->consumed.value, memory_order_relaxed) ==
           team_stream_start(t));
    team_use_cells(t);
    return stream_cell(t->mine, 0);
}

/* Send or receive one stream. */
void stream_send(struct team *team, struct buffer data);
enum coll_error stream_receive(struct team *team, struct stream in);

#endif
