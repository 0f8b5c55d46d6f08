/* Long data between two ranks, in pieces, when nobody else knows how long they are.
 *
 * Every rank has one stream at a time that it fills, through the cells of its mailbox that are for
 * that; how many and where they are it changes only between two streams, before the first piece.
 * `produced` counts the pieces that it has put there since the team began, and only it writes it;
 * `consumed` counts what has been taken out, and the rank that the stream is meant for writes it. A
 * stream ends when all is consumed, so the next reader finds the counters equal and is the only one
 * to write. Where a stream starts the producer says in a slot.
 */
#ifndef MPIACCEL_STREAM_H
#define MPIACCEL_STREAM_H

#include "coll_inplace/coll.h"

struct stream {
    struct team *team;
    struct mailbox *mailbox; /* the producer's */
    uint32_t start;          /* its count before the first piece */
    uint32_t pieces, next;
    struct buffer data; /* here */
    size_t bytes;
};

/* What our next stream would start with. */
uint32_t stream_start(struct team *team);

static inline uint32_t stream_pieces(size_t bytes)
{
    return (uint32_t)((bytes + STREAM_CELL - 1) / STREAM_CELL);
}

/* From us, and from `rank`. */
struct stream stream_out(struct team *team, struct buffer data, uint32_t start);
struct stream stream_in(struct team *team, uint32_t rank, struct buffer data, size_t bytes,
                        uint32_t start);

/* Where the stream starts that a slot of SLOT_PIPELINED announces. */
static inline uint32_t slot_stream_start(const struct slot *slot)
{
    uint32_t start;
    memcpy(&start, slot->data, sizeof start);
    return start;
}

/* Both to their end. `in_place`: they are the same bytes, so a piece comes in only after it has
 * gone out. A stream of no pieces is at its end. */
enum coll_error stream_run(struct stream *out, struct stream *in, bool in_place);

/* One of no pieces. */
struct stream stream_none(struct team *team);

/* One alone, to its end. */
void stream_give(struct team *team, struct buffer data);
enum coll_error stream_take(struct team *team, struct stream in);

#endif
