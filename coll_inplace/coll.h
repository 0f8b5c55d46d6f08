/* The collectives (MPI-4.0, chapter 6) of a team. What is wrong with the arguments the caller has
 * found before; all ranks of the team make the same calls in the same order. In place: where the
 * standard has it, the caller says so and gives the one buffer for both.
 *
 * Each file names, in its first comment, how it moves the data and what it waits for.
 */
#ifndef MPIACCEL_COLL_H
#define MPIACCEL_COLL_H

#include "coll_inplace/reducer.h"
#include "coll_inplace/team.h"
#include "coll_inplace/tree.h"

/* A set. */
enum coll_error {
    COLL_OK = 0,
    COLL_TRUNCATE = 1,    /* more data came than there is room for; what fits is there */
    COLL_UNREACHABLE = 2, /* the kernel no longer lets us read another rank's memory */
    COLL_LEFT = 4,        /* nothing was done: all ranks leave it to the host */
    COLL_NO_MEMORY = 8,   /* a result is missing */
};

/* One block a rank in a buffer. */
struct blocks {
    char *at;
    const struct typemap *map;
    const struct typemap *const *maps; /* one a rank, instead of `map`; displacements are bytes */
    size_t count;                      /* of each block */
    const void *counts, *displs;       /* one a rank, instead of `count` blocks one after another */
    bool wide;                         /* they are MPI_Count and MPI_Aint, not int */
};

static inline int64_t blocks_number(const struct blocks *b, const void *numbers, uint32_t rank)
{
    return b->wide ? ((const int64_t *)numbers)[rank] : ((const int *)numbers)[rank];
}

static inline struct buffer block_of(const struct blocks *b, uint32_t rank)
{
    const struct typemap *map = b->maps ? b->maps[rank] : b->map;
    size_t count = b->counts ? (size_t)blocks_number(b, b->counts, rank) : b->count;
    int64_t at = b->displs ? blocks_number(b, b->displs, rank) : (int64_t)(rank * b->count);
    return (struct buffer){b->at + at * (b->maps ? 1 : map->extent), map, count};
}

/* Nothing is posted and nobody waits where no data move, as under the hosts. Both sides know that:
 * the standard makes the lengths equal of what one sends and the other receives. An operation is
 * counted all the same, so that the numbers agree.
 *
 * Bytes of data; the caller has seen that they can be. */
static inline size_t bytes_of(struct buffer b)
{
    return typemap_to_move(b.map)->size * b.count;
}

/* Whether there is any data in the blocks of so many ranks. */
static inline bool blocks_any(const struct blocks *b, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++)
        if (bytes_of(block_of(b, r)))
            return true;
    return false;
}

void coll_barrier(struct team *team);
enum coll_error coll_bcast(struct team *team, struct buffer data, uint32_t root);
enum coll_error coll_gather(struct team *team, struct buffer mine, const struct blocks *all,
                            uint32_t root, bool in_place);
/* `equal`: all blocks are, as all ranks know. */
enum coll_error coll_scatter(struct team *team, const struct blocks *all, struct buffer mine,
                             uint32_t root, bool in_place, bool equal);
enum coll_error coll_allgather(struct team *team, struct buffer mine, const struct blocks *all,
                               bool in_place);
enum coll_error coll_alltoall(struct team *team, const struct blocks *to, const struct blocks *from,
                              bool in_place);

enum coll_error coll_reduce(struct team *team, const struct reducer *reducer, struct buffer from,
                            struct buffer to, uint32_t root);
enum coll_error coll_allreduce(struct team *team, const struct reducer *reducer, struct buffer from,
                               struct buffer to);
/* The same of what fits into posts, of a few ranks, combined where it lies: most allreduces of most
 * programs, so without the detours of all the others. Other ranks may take those. */
enum { COLL_FEW = SLOT_ROOM };
static inline bool coll_is_few(const struct team *team, size_t bytes)
{
    return bytes - 1 < COLL_FEW && team->size > 1 && team->size <= TREE_FLAT;
}
void coll_allreduce_few(struct team *team, combine_fn *kernel, const char *from, char *to,
                        size_t elements, size_t bytes);
/* `shares`: how many elements of the result each rank gets; `to` is for ours. */
enum coll_error coll_reduce_scatter(struct team *team, const struct reducer *reducer,
                                    struct buffer from, struct buffer to,
                                    const struct blocks *shares);
enum coll_error coll_scan(struct team *team, const struct reducer *reducer, struct buffer from,
                          struct buffer to, bool exclusive);

/* ---- used by several of them ---- */

/* Local: into a buffer from another one, while all ranks read and write so many blocks like it. */
enum coll_error coll_copy(struct buffer to, struct buffer from, uint32_t blocks);

/* `bytes` bytes that a peer has sent, into a buffer from its data byte `first` on; and all that
 * lies in a place of its owner's. */
enum coll_error coll_take(struct buffer to, size_t first, const char *data, size_t bytes);
enum coll_error coll_take_place(const struct team *team, uint32_t owner, remote_addr_t place,
                                struct buffer to, size_t bytes);

/* The data of a slot that is not SLOT_PIPELINED. */
enum coll_error coll_take_post(struct team *team, uint32_t rank, uint32_t op,
                               const struct slot *slot, struct buffer to);

/* A root's slot, handed on by the ranks between it and us where there are many. The data of
 * SLOT_BUFFERED by_reference in the root's cell: see slot_data(). */
const struct slot *tree_hear(struct team *team, uint32_t op, uint32_t root);

#endif
