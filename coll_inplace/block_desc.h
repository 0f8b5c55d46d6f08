/* Slots with a different block of data for each rank.
 *
 * If only one other rank reads the slot, it is an ordinary slot with the block for that rank. If
 * all ranks know that the blocks have the same length (MPI_Scatter, MPI_Alltoall), the slot
 * describes all blocks as one buffer; when they are copied, our own is left out. Otherwise blocks
 * of only a few bytes in total go into the slot, preceded by one length byte per rank. For more
 * data there is a table of block descriptors: in the slot if there is room, else at the beginning
 * of the cell, with the copied data behind it. Blocks that are too long for the cell are read by
 * reference or go through streams, one after the other, in the order of team_partner().
 */
#ifndef MPIACCEL_BLOCK_DESC_H
#define MPIACCEL_BLOCK_DESC_H

#include "coll_inplace/receive.h"
#include "coll_inplace/stream.h"

/* Where the block of one rank is. `where` depends on the kind of the slot: an offset from the
 * beginning of the data; SLOT_REFERENCE: a remote address; SLOT_PIPELINED: the start of a stream.
 */
struct block_desc {
    uint64_t bytes;
    uint64_t where;
};
_Static_assert(TEAM_RANKS_MAX * sizeof(struct block_desc) <= TEAM_CELL, "a table fits into a cell");

static inline bool blocks_are_equal(const struct blocks *b)
{
    return !b->counts && !b->maps;
}

/* Whether there are data for any other rank. */
bool blocks_any_remote(const struct team *team, const struct blocks *all);

/* Send the blocks and return how. After SLOT_REFERENCE the caller must call blocks_await_readers();
 * after SLOT_PIPELINED it must send the streams. */
enum slot_kind blocks_publish(struct team *team, uint32_t op, const struct blocks *all,
                              enum by_reference by_reference);

/* Wait until each rank for which there are data has read them. Do not wait for other ranks: a
 * program may depend on that (H15). */
void blocks_await_readers(struct team *team, uint32_t op, const struct blocks *all);

/* The descriptor of our block in the slot of `rank`, and of the block of `rank` in our slot.
 * `equal` states that all blocks have the same length, and that all ranks know this. */
struct block_desc block_desc_for_us(struct team *team, uint32_t rank, uint32_t op,
                                    const struct slot *slot, bool equal);
struct block_desc block_desc_sent(struct team *team, uint32_t op, uint32_t rank, bool equal);

/* The stream in which `rank` sends our block, if its slot is SLOT_PIPELINED. */
static inline struct stream block_stream(struct team *t, uint32_t rank, struct block_desc desc,
                                         struct buffer to)
{
    return stream_in(t, rank, to, desc.bytes, (uint32_t)desc.where);
}

/* Copy our block into a buffer if the slot is not SLOT_PIPELINED. */
enum coll_error block_receive(struct team *team, uint32_t rank, uint32_t op,
                              const struct slot *slot, struct block_desc desc, bool equal,
                              struct buffer to);

#endif
