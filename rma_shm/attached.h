/* The memory that ranks have attached to a dynamic window (MPI-4.0, 12.2.4), as far as it lies in
 * the shared file.
 *
 * Each rank has a table of such ranges, in the control part of its slice. Whether this library or
 * the host performs an access depends only on the address and on the table of the target: this
 * library accesses memory in a range, and the host all other memory
 * (pmpi_wrap/abi/windows/dynamic_window.h). So all origins access a location in the same way, and
 * accumulates remain atomic.
 *
 * The owner adds a range when the host has attached it, and removes it when the host has detached
 * it. A range that overlaps another one, which is an error of the program, is not added, nor is a
 * range for which the table cannot grow: the host then performs all accesses to it.
 *
 * The ranges are sorted, do not overlap, and are divided into blocks, so that a change moves few of
 * them even if a program attaches many, such as each element of a linked list. A full block is
 * divided in two. An empty block moves behind those in use, and is used again.
 *
 *   sequence          written by the owner: odd while it changes the table
 *   all other words   that a reader can reach, so not those of blocks that are not in use: written
 *                     by the owner while `sequence` is odd. A reader loads them between two loads
 *                     of `sequence`, and begins again if these differ
 *
 * The owner stores `sequence` before the other words, which are stored with release and loaded with
 * acquire: a reader that has loaded a new word then finds a new `sequence`. Threads of the owner
 * exclude each other by a mutex of the process. The array of blocks is replaced by a longer one
 * when it is full. The owner frees old arrays and all blocks with the window, since slow readers
 * may still access them.
 *
 * A reader waits while `sequence` is odd. If the owner dies during a change, its launcher ends the
 * job. The owner does not wait for readers. An operation that depends on a change must be ordered
 * after it by the program; otherwise it is an error. A range that an origin has found before still
 * denotes the same memory, since an address of a process keeps its position in the file.
 */
#ifndef MPIACCEL_ATTACHED_H
#define MPIACCEL_ATTACHED_H

#include "core/sync.h"

#include <pthread.h>

struct win;
struct win_offer;

/* A range of the owner's addresses, and its position in the shared file. */
struct attached_range {
    _Atomic uint64_t begin, end, position;
};

enum { ATTACHED_BLOCK = 64, ATTACHED_FIRST = 12 };

struct attached_block {
    _Atomic uint32_t count;
    struct attached_range range[ATTACHED_BLOCK];
};

struct attached_table {
    _Alignas(LINE) struct sync_word sequence;
    _Atomic uint32_t count;  /* of blocks in use */
    _Atomic uint64_t blocks; /* position in the file of an array of their positions */
    _Atomic uint64_t first[ATTACHED_FIRST]; /* the first array */
};
_Static_assert(sizeof(struct attached_table) == LINE, "a table is one cache line");

/* The private part of a dynamic window. */
struct attached {
    /* Held to change the table and, with several threads, to begin an epoch of the host. */
    pthread_mutex_t mutex;
    struct attached_table *own;
    uint32_t made;     /* number of blocks in the array: those in use, then empty ones */
    uint32_t capacity; /* of the array */
    void **allocated;  /* all blocks, and all arrays but the first one */
    uint32_t allocated_count;
    struct attached_peer {
        struct attached_table *table;
        _Atomic bool below;       /* the host's window is in an epoch towards this target */
        _Atomic bool outstanding; /* operations of the host there may be incomplete */
    } peer[];
};

/* Create the private part and the table of this rank, for a window of `size` ranks. NULL: no
 * memory. */
struct attached *attached_create(uint32_t size);

/* Destroy the private part. `free_table`: also the table, which no other rank reads any more. */
void attached_destroy(struct attached *a, bool free_table);

/* Return the position of this rank's table, for its offer. */
uint64_t attached_position(const struct attached *a);

/* Store the addresses of all tables, from the offers. */
void attached_connect(struct attached *a, const struct win_offer *offers, uint32_t size);

/* Add [base, base + bytes), which lies at `position` in the file. False: nothing is added. */
bool attached_add(struct attached *a, const void *base, size_t bytes, uint64_t position);

/* Remove the range that begins at `base`, if there is one. */
void attached_remove(struct attached *a, const void *base);

enum attached_part { ATTACHED_NONE, ATTACHED_SOME, ATTACHED_ALL };
struct attached_found {
    uint64_t begin, end, position;
    uint32_t sequence;
};

/* Return how much of [low, high), which is not empty, lies in one range of the table. If the result
 * is not ATTACHED_NONE, `found` is the first range that overlaps [low, high). */
enum attached_part attached_find(struct attached_table *table, uint64_t low, uint64_t high,
                                 struct attached_found *found);

/* Whether `sequence` is still current. Detects every change that is ordered before this call. */
static inline bool attached_unchanged(struct attached_table *table, uint32_t sequence)
{
    return atomic_load_explicit(&table->sequence.value, memory_order_relaxed) == sequence;
}

#endif
