/* A post with something else for every rank.
 *
 * Of two ranks it is a post of the other's block. If all know that the blocks are equally long
 * (scatter and alltoall without counts), it is a post of all of them, where they are copied without
 * our own. Otherwise a few bytes in all go into the post, behind a byte for each rank that says how
 * many are its. For more there is a table of where each rank's block is, in the post if there is
 * room, else at the beginning of the cell, and behind it what is to be copied. Blocks too long for
 * that stay where they lie, or go through streams: one after another, to the rank that is the
 * partner in step s = 0 .. size - 1, where two ranks are each other's in the same step.
 */
#ifndef MPIACCEL_PARCEL_H
#define MPIACCEL_PARCEL_H

#include "coll_inplace/stream.h"

struct parcel {
    uint64_t bytes;
    uint64_t where; /* from where the data begin; POST_PLACE: a place; POST_PIECES: where the stream
                       starts */
};
_Static_assert(TEAM_RANKS_MAX * sizeof(struct parcel) <= TEAM_CELL, "a table fits into a cell");

/* (One partner is ourselves.) */
static inline uint32_t parcel_partner(const struct team *t, uint32_t s)
{
    return s >= t->rank ? s - t->rank : s + t->size - t->rank;
}

static inline bool blocks_are_equal(const struct blocks *b)
{
    return !b->counts && !b->maps;
}

/* Whether there is any data for another rank. */
bool parcels_any(const struct team *team, const struct blocks *all);

/* Post the blocks, and return how: POST_PLACE and POST_PIECES keep us. */
enum post_kind parcels_post(struct team *team, uint32_t op, const struct blocks *all,
                            enum stay stay);

/* The stream of rank `rank` that a parcel of POST_PIECES names. */
static inline struct stream parcel_stream(struct team *t, uint32_t rank, struct parcel parcel,
                                          struct buffer to)
{
    return stream_in(t, rank, to, parcel.bytes, (uint32_t)parcel.where);
}

/* What `rank` has for rank `to`, in a post of equal blocks or one with a table; and its data for
 * us, into a buffer, if the post is not POST_PIECES. */
struct parcel parcel_for(struct team *team, uint32_t rank, uint32_t op, const struct post *post,
                         uint32_t to, bool equal);
enum coll_error parcel_take(struct team *team, uint32_t rank, uint32_t op, const struct post *post,
                            struct parcel parcel, bool equal, struct buffer to);

#endif
