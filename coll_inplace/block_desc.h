/* A slot with something else for every rank.
 *
 * Of two ranks it is a slot of the other's block. If all know that the blocks are equally long
 * (scatter and alltoall without counts), it is a slot of all of them, where they are copied without
 * our own. Otherwise a few bytes in all go into the slot, behind a byte for each rank that says how
 * many are its. For more there is a table of where each rank's block is, in the slot if there is
 * room, else at the beginning of the cell, and behind it what is to be copied. Blocks too long for
 * that by_reference where they lie, or go through streams: one after another, to the rank that is
 * the partner in step s = 0 .. size - 1, where two ranks are each other's in the same step.
 */
#ifndef MPIACCEL_PARCEL_H
#define MPIACCEL_PARCEL_H

#include "coll_inplace/stream.h"

struct block_desc {
    uint64_t bytes;
    uint64_t where; /* from where the data begin; SLOT_REFERENCE: a place; SLOT_PIPELINED: where the
                       stream starts */
};
_Static_assert(TEAM_RANKS_MAX * sizeof(struct block_desc) <= TEAM_CELL, "a table fits into a cell");

/* (One partner is ourselves.) */
static inline uint32_t exchange_partner(const struct team *t, uint32_t s)
{
    return s >= t->rank ? s - t->rank : s + t->size - t->rank;
}

static inline bool blocks_are_equal(const struct blocks *b)
{
    return !b->counts && !b->maps;
}

/* Whether there is any data for another rank. */
bool blocks_any_remote(const struct team *team, const struct blocks *all);

/* Post the blocks, and return how: SLOT_REFERENCE and SLOT_PIPELINED keep us. */
enum slot_kind blocks_publish(struct team *team, uint32_t op, const struct blocks *all,
                              enum by_reference by_reference);

/* The stream of rank `rank` that a block_desc of SLOT_PIPELINED names. */
static inline struct stream block_stream(struct team *t, uint32_t rank,
                                         struct block_desc block_desc, struct buffer to)
{
    return stream_in(t, rank, to, block_desc.bytes, (uint32_t)block_desc.where);
}

/* What `rank` has for rank `to`, in a slot of equal blocks or one with a table; and its data for
 * us, into a buffer, if the slot is not SLOT_PIPELINED. */
struct block_desc block_desc_for(struct team *team, uint32_t rank, uint32_t op,
                                 const struct slot *slot, uint32_t to, bool equal);
enum coll_error block_receive(struct team *team, uint32_t rank, uint32_t op,
                              const struct slot *slot, struct block_desc block_desc, bool equal,
                              struct buffer to);

#endif
