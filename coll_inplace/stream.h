/* Streams: long data between two ranks, in pieces, when no other rank knows how long the data are.
 *
 * Every rank writes one stream at a time, through the stream cells of its mailbox. Their number and
 * position change only between two streams. `produced` counts the pieces that the rank has written
 * since the team was created; only the rank writes it. `consumed` counts the pieces that were read;
 * the receiver of the stream writes it. A stream ends when all its pieces are consumed, so the next
 * receiver finds equal counters and is the only one that writes `consumed`. The producer publishes
 * in a slot at which count its stream starts.
 */
#ifndef MPIACCEL_STREAM_H
#define MPIACCEL_STREAM_H

#include "coll_inplace/coll.h"

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

/* A stream from us, from `rank`, or of no pieces. */
struct stream stream_out(struct team *team, struct buffer data, uint32_t start);
struct stream stream_in(struct team *team, uint32_t rank, struct buffer data, size_t bytes,
                        uint32_t start);
struct stream stream_none(struct team *team);

/* The start of the stream that a slot of SLOT_PIPELINED announces. */
static inline uint32_t slot_stream_start(const struct slot *slot)
{
    uint32_t start;
    memcpy(&start, slot->data, sizeof start);
    return start;
}

/* The stream of `rank`, in an intercommunicator, if the slot announces the same data for each rank
 * of our group: one stream per rank, in the order of partners. */
struct stream stream_of_partner(struct team *team, uint32_t rank, const struct slot *slot,
                                struct buffer data);

/* Runs both streams to their end. `in_place`: both have the same buffer, so a piece is received
 * only after the piece in its place was sent. */
enum coll_error stream_run(struct stream *out, struct stream *in, bool in_place);

/* Sends or receives one stream. */
void stream_send(struct team *team, struct buffer data);
enum coll_error stream_receive(struct team *team, struct stream in);

#endif
