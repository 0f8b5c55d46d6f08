/* The symmetric heap: memory that lies at the same offset on every PE. A PE is a rank of
 * MPI_COMM_WORLD; all of them must be on this node.
 *
 * Each member's slice has a symmetric part of the same size. Opening it is collective and comes
 * with the first call that needs it; programs without such a call pay address space and nothing
 * else. Then each PE maps its own part a second time, at an address that PE 0 proposes, where all
 * PEs have nothing; if there is no such address, the parts stay where the file is mapped, and only
 * offsets are equal.
 *
 * PE 0 decides and the others follow: its jemalloc hands out offsets by the addresses of its own
 * part, which it neither reads nor writes, so nothing that a program writes can harm it (H22), and
 * it does not matter that two jemallocs would decide differently. A call goes so:
 *
 *     each PE   writes its arguments into its request           barrier
 *     PE 0      compares them all, decides, writes the decision  barrier
 *     each PE   reads the decision
 *
 * and a resize that moves a block adds: each PE copies its own part, barrier, PE 0 frees the old
 * block; so does an allocation that clears what it gives: each PE its own part, barrier. A request
 * is written by its PE, and read by PE 0 between the two barriers; the decision is written by PE 0
 * between them, and read before the next call's first one. So neither changes while anybody reads
 * it, and one of each is enough. Arguments that differ make the decision an error for all: nobody
 * hangs, and no offset is handed out to some only. The first barrier is also the one that frees
 * must begin with, and the last the one that every call ends with.
 *
 * What the PEs share of this is control memory of PE 0, found by header.symmetric, which PE 0 sets
 * once: 1 + its offset in lines, or FAILED. A PE that never comes keeps the others waiting, as in
 * any collective call; a PE that dies is the launcher's matter. Waiting gives the host progress.
 */
#ifndef MPIACCEL_SYMMETRIC_H
#define MPIACCEL_SYMMETRIC_H

#include "alloc/node.h"

/* Size 0: not open. Read by every access: one comparison says whether an address is inside. */
struct symmetric {
    char *base;
    size_t size;
    char **peer; /* by PE: where its part is here */
    uint32_t me, pes;
};
extern struct symmetric symmetric;

enum symmetric_error {
    SYMMETRIC_OK,
    SYMMETRIC_DIFFERENT, /* the PEs do not make the same call with the same arguments */
    SYMMETRIC_NO_ROOM,
    SYMMETRIC_BAD_BLOCK, /* not the start of a live block */
    SYMMETRIC_BAD_ALIGNMENT,
    SYMMETRIC_NOT_HERE, /* there is no symmetric heap: see symmetric_open() */
};

/* How large a symmetric part the environment asks for; 0 if it does not. */
size_t symmetric_wanted(void);

/* Collective, once. REASON_COUNT: it is open; else why there is none, the same on all PEs. */
enum reason symmetric_open(void);

/* From now on there is none: at Finalize. Memory can still be read and written. */
void symmetric_close(void);

/* ---- collective, all with the same arguments ---- */

void symmetric_barrier(void);

/* NULL with SYMMETRIC_OK: size 0. `align` is a power of two, or there is an error. */
void *symmetric_alloc(size_t size, size_t align, enum symmetric_error *error);
/* Each PE clears its own part, and nobody returns before all have. */
void *symmetric_alloc_zeroed(size_t size, enum symmetric_error *error);
/* NULL is no block, and no error. */
enum symmetric_error symmetric_free(void *block);
/* Of NULL: a new block. To size 0: frees it. NULL with an error: the block is as it was. */
void *symmetric_resize(void *block, size_t size, enum symmetric_error *error);

/* ---- local ---- */

/* Where [at, at + bytes) of `pe` is, for `at` in our own part or among the variables that were
 * moved into shared memory; the slow and complete way. NULL: not symmetric, or not on all PEs
 * alike. */
char *symmetric_find(const void *at, size_t bytes, int pe);

/* The same; NULL also if it needs the slow way. */
HOT_INLINE char *symmetric_at(const void *at, size_t bytes, int pe)
{
    size_t offset = (size_t)((const char *)at - symmetric.base);
    if (UNLIKELY(offset >= symmetric.size) || UNLIKELY(bytes > symmetric.size - offset) ||
        UNLIKELY((uint32_t)pe >= symmetric.pes))
        return NULL;
    return symmetric.peer[pe] + offset;
}

/* All stores of ours are visible to all before anything that follows. */
HOT_INLINE void symmetric_quiet(void)
{
    sync_full_fence();
}

#endif
