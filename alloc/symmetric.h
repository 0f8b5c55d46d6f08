/* The symmetric heap of OpenSHMEM: memory in which a block has the same offset on every PE
 * (processing element). A PE is a rank of MPI_COMM_WORLD; all of them must be on this node.
 *
 * Each member's slice has a symmetric part of the same size. The first call that needs the heap
 * opens it; that call is collective. Other programs pay with address space only. Each PE then maps
 * its own part again, at the first address of a list at which no PE has anything mapped. If there
 * is no such address, the addresses may differ between PEs, and only offsets are equal.
 *
 * PE 0 decides and the others follow. Its jemalloc allocates offsets, represented by addresses in
 * its own part, which jemalloc neither reads nor writes. So no store of a program can damage the
 * allocator's data (H22: overruns), and the PEs cannot disagree. A call has three steps:
 *
 *     each PE   writes its arguments into its request             barrier
 *     PE 0      compares them, decides, and writes the decision   barrier
 *     each PE   reads the decision
 *
 * A resize that moves a block then continues: each PE copies its own part, barrier, PE 0 frees the
 * old block. An allocation that clears the block also continues: each PE clears its own part,
 * barrier.
 *
 * A request is written by its PE before the first barrier and read by PE 0 between the two. The
 * decision is written by PE 0 between them and read before the first barrier of the next call. So
 * neither changes while another PE reads it, and one request per PE and one decision are enough. If
 * the arguments differ, the decision is an error for all PEs: no call hangs, and no offset is
 * allocated on some PEs only. OpenSHMEM requires a barrier at the start of a free and at the end of
 * every call; these are the same two.
 *
 * The requests and the decision are in control memory of PE 0. PE 0 sets header.symmetric once, to
 * 1 + their offset in units of LINE, or to FAILED. If a PE never makes the call, the others wait,
 * as in any collective call, and drive the host's progress meanwhile. If a PE dies, the launcher
 * ends the job.
 */
#ifndef MPIACCEL_SYMMETRIC_H
#define MPIACCEL_SYMMETRIC_H

#include "node/node.h"

/* Read by every access: one comparison decides whether an address is in the heap. Size 0: not open.
 */
struct symmetric {
    char *base;
    size_t size;
    char **peer; /* by PE: the address of its part in this process */
    uint32_t me, pes;
};
extern struct symmetric symmetric;

enum symmetric_error {
    SYMMETRIC_OK,
    SYMMETRIC_DIFFERENT, /* the PEs do not make the same call with the same arguments */
    SYMMETRIC_NO_ROOM,
    SYMMETRIC_BAD_BLOCK, /* not the start of a live block */
    SYMMETRIC_BAD_ALIGNMENT,
    SYMMETRIC_NOT_HERE, /* there is no symmetric heap; symmetric_open() returns the reason */
};

/* The size of the symmetric part that the environment requests; 0: none. */
size_t symmetric_wanted(void);

/* Open the heap; collective the first time. Returns REASON_NONE if it is open, else the reason why
 * not, which is the same on all PEs. */
enum reason symmetric_open(void);

/* Call at Finalize: later calls fail. The memory can still be read and written. */
void symmetric_close(void);

/* ---- collective, with the same arguments on all PEs ---- */

void symmetric_barrier(void);

/* Returns NULL with SYMMETRIC_OK if the size is 0. It is an error if `align` is not a power of two.
 */
void *symmetric_alloc(size_t size, size_t align, enum symmetric_error *error);
/* Each PE clears its own block, and no PE returns before all have. */
void *symmetric_alloc_zeroed(size_t size, enum symmetric_error *error);
/* Freeing NULL does nothing and is no error. */
enum symmetric_error symmetric_free(void *block);
/* Resizing NULL allocates a block; size 0 frees it. NULL with an error: the block is unchanged. */
void *symmetric_resize(void *block, size_t size, enum symmetric_error *error);

/* ---- local ---- */

/* The address in this process of the memory that corresponds on `pe` to [address, address + bytes).
 * `address` is in this PE's own part or among its static variables in shared memory
 * (node/statics.h). NULL: it is in neither, or the two PEs have different variables. */
char *symmetric_find(const void *address, size_t bytes, int pe);

/* symmetric_find() for addresses in this PE's own part only. NULL: `address` is not in it. */
HOT_INLINE char *symmetric_at(const void *address, size_t bytes, int pe)
{
    size_t offset = (size_t)((const char *)address - symmetric.base);
    if (UNLIKELY(offset >= symmetric.size) || UNLIKELY(bytes > symmetric.size - offset) ||
        UNLIKELY((uint32_t)pe >= symmetric.pes))
        return NULL;
    return symmetric.peer[pe] + offset;
}

/* Execute a full fence: all earlier stores of this thread are visible to all PEs before any later
 * access.
 */
HOT_INLINE void symmetric_quiet(void)
{
    sync_full_fence();
}

#endif
