/* The collectives of a team (MPI-4.0, chapter 6). The caller has checked the arguments. All ranks
 * make the same calls in the same order.
 *
 *   MPI_Barrier                               barrier.c
 *   MPI_Bcast                                 bcast.c
 *   MPI_Gather, MPI_Scatter                   gather_scatter.c
 *   MPI_Allgather                             allgather.c
 *   MPI_Alltoall                              alltoall.c
 *   MPI_Reduce, MPI_Allreduce,
 *   MPI_Reduce_scatter, MPI_Scan, MPI_Exscan  reduce_scan.c: data that fit into a cell
 *                                             reduce_segmented.c: longer data
 *                                             reduce_unsegmented.c: longer data of user-defined
 *                                             operations and of intercommunicators
 *
 * The variants (v, w, _block) of a call are in the same file. The first comment of each file
 * describes how the data move and for which events a rank waits.
 *
 * The same functions serve intercommunicators (team.h) except where a comment says otherwise. In an
 * intercommunicator the root passes INTER_ROOT, there is one block per rank of the other group, and
 * no call is in place.
 */
#ifndef MPIACCEL_COLL_H
#define MPIACCEL_COLL_H

#include "coll_inplace/team.h"
#include "coll_inplace/tree.h"
#include "core/reducer.h"

/* A set of bits. */
enum coll_error {
    COLL_OK = 0,
    COLL_TRUNCATE = 1,    /* more data arrived than the buffer holds; the buffer is full */
    COLL_UNREACHABLE = 2, /* the process with the data has ended */
    COLL_LEFT = 4,        /* nothing was done: all ranks leave the call to the host */
    COLL_NO_MEMORY = 8,   /* there is no result */
};

/* A buffer with one block per rank. */
struct blocks {
    char *at;
    const struct typemap *map;
    const struct typemap *const *maps; /* per rank, instead of `map`; then `displs` are in bytes */
    size_t count;                      /* of each block */
    const void *counts, *displs;       /* per rank, instead of adjacent blocks of `count` */
    bool wide;                         /* `counts` and `displs` have MPI_Count and MPI_Aint */
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

/* Bytes of data in a buffer. The caller has checked that the product fits.
 *
 * If there are no data, no rank writes a slot and no rank waits, as under the hosts. Sender and
 * receiver agree on this, because the standard requires equal lengths on both sides. The operation
 * still takes a number, so that the numbers agree. */
static inline size_t bytes_of(struct buffer b)
{
    return typemap_to_move(b.map)->size * b.count;
}

/* Whether there are data in the blocks of ranks 0 .. ranks - 1. */
static inline bool blocks_any(const struct blocks *b, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++)
        if (bytes_of(block_of(b, r)))
            return true;
    return false;
}

void coll_barrier(struct team *team);

/* Pass a call in which this rank takes no part (MPI_PROC_NULL in an intercommunicator, or a gather
 * of nothing that is left to the host): the call takes an operation number all the same. */
static inline void coll_pass(struct team *t)
{
    team_begin(t);
    team_end(t);
}

enum coll_error coll_bcast(struct team *team, struct buffer data, uint32_t root);
enum coll_error coll_gather(struct team *team, struct buffer mine, const struct blocks *all,
                            uint32_t root, bool in_place);
/* `equal`: all blocks have the same length, which is given to all ranks (MPI_Scatter). */
enum coll_error coll_scatter(struct team *team, const struct blocks *all, struct buffer mine,
                             uint32_t root, bool in_place, bool equal);
enum coll_error coll_allgather(struct team *team, struct buffer mine, const struct blocks *all,
                               bool in_place);

/* coll_allgather() of `bytes` bytes, at most SLOT_ROOM, in an intracommunicator of several ranks.
 * All ranks pass the same number. A rank that needs the data of no other rank may call
 * coll_contribute() instead, which does not wait. */
void coll_exchange(struct team *team, const void *mine, void *all, size_t bytes);
static inline void coll_contribute(struct team *t, const void *mine, size_t bytes)
{
    assert(!t->alone && !team_is_inter(t));
    team_publish_inline(t, team_begin(t), mine, bytes);
    team_end(t);
}

enum coll_error coll_alltoall(struct team *team, const struct blocks *to, const struct blocks *from,
                              bool in_place);

/* In place: `from` and `to` are the same buffer. In an intercommunicator they are different, and
 * the result combines the operands of the other group. */
enum coll_error coll_reduce(struct team *team, const struct reducer *reducer, struct buffer from,
                            struct buffer to, uint32_t root);
enum coll_error coll_allreduce(struct team *team, const struct reducer *reducer, struct buffer from,
                               struct buffer to);

/* coll_allreduce() for a few ranks of an intracommunicator and operands that fit into a slot and
 * have a kernel. In most programs most calls are of this kind, so this path has none of the
 * branches of coll_allreduce(). Other ranks may be in coll_allreduce() in the same operation. */
enum { COLL_FEW = SLOT_ROOM };
static inline bool coll_is_few(const struct team *team, size_t bytes)
{
    return bytes - 1 < COLL_FEW && team->few;
}
void coll_allreduce_few(struct team *team, combine_fn *kernel, const char *from, char *to,
                        size_t elements, size_t bytes);

/* `shares` contains how many elements of the result each rank of our group receives; `to` is the
 * buffer for those of this rank. */
enum coll_error coll_reduce_scatter(struct team *team, const struct reducer *reducer,
                                    struct buffer from, struct buffer to,
                                    const struct blocks *shares);
/* MPI_Scan and, with `exclusive`, MPI_Exscan; only for intracommunicators. */
enum coll_error coll_scan(struct team *team, const struct reducer *reducer, struct buffer from,
                          struct buffer to, bool exclusive);

#endif
