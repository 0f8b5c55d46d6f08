/* A post with something else for every rank: a table of where each rank's data are, and the data,
 * if there is room for them. The table is at the beginning of the post's data (POST_HERE) or of its
 * cell. */
#ifndef MPIACCEL_PARCEL_H
#define MPIACCEL_PARCEL_H

#include "coll_inplace/coll.h"

struct parcel {
    uint64_t bytes;
    uint64_t where; /* from the table; POST_PLACE: in the node's file; POST_PIECES: where the stream
                       starts */
};
_Static_assert(TEAM_RANKS_MAX * sizeof(struct parcel) <= TEAM_CELL, "a table fits into a cell");

/* Streams go one after another, to the rank that is our partner in step s = 0 .. size - 1: two ranks
 * are each other's in the same step. (One is our own.) */
static inline uint32_t parcel_partner(const struct team *t, uint32_t s)
{
    return s >= t->rank ? s - t->rank : s + t->size - t->rank;
}

/* Post the blocks, ours not among them; `copied`: not from where they lie. Returns how. */
enum post_kind parcels_post(struct team *team, uint32_t op, const struct blocks *all, bool copied);

static inline const char *parcel_table(struct team *t, uint32_t rank, uint32_t op,
                                       const struct post *post)
{
    return post_kind(post) == POST_HERE ? post->data : cell_of(t->row[rank], op);
}

/* What `rank` has for rank `to`. */
static inline struct parcel parcel_for(struct team *t, uint32_t rank, uint32_t op,
                                       const struct post *post, uint32_t to)
{
    struct parcel parcel;
    memcpy(&parcel, parcel_table(t, rank, op, post) + to * sizeof parcel, sizeof parcel);
    return parcel;
}

/* Where its data are; not of POST_PIECES. */
static inline const char *parcel_data(struct team *t, uint32_t rank, uint32_t op,
                                      const struct post *post, struct parcel parcel)
{
    return post_kind(post) == POST_PLACE ? node.base + parcel.where
                                         : parcel_table(t, rank, op, post) + parcel.where;
}

#endif
