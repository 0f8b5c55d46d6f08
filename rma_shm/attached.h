/* The memory that ranks have attached to a dynamic window (MPI-4.0, 12.2.4), as far as it lies in
 * the shared file.
 *
 * Each rank has a table of such ranges, in the control part of its slice. The way of an access
 * follows from its address and the table of the target alone: this library accesses what lies in a
 * range, and the host everything else (pmpi_wrap/abi/windows/dynamic_window.h). So all origins
 * access a location in the same way, and accumulates remain atomic.
 *
 * The owner adds a range when the host has attached it, and removes it when the host has detached
 * it. A range that overlaps another one, which is an error of the program, or for which there is no
 * memory, is not added: the host then performs all accesses to it.
 *
 *   sequence          written by the owner: odd while it changes the table
 *   count, ranges     written by the owner while `sequence` is odd. A reader loads them between two
 *                     loads of `sequence`, and begins again if these differ
 *
 * The owner stores `sequence` before the other words, which are stored with release and loaded with
 * acquire: a reader that has loaded a new word then finds a new `sequence`. Threads of the owner
 * exclude each other by a mutex of the process. The ranges are sorted, and do not overlap. When
 * their array is full, the owner allocates another one. It frees the old one with the window, since
 * slow readers may still access it.
 *
 * A reader waits while `sequence` is odd. If the owner dies then, its launcher ends the job. A rank
 * that runs ahead changes its table only: an access that needs a range which the owner has not
 * attached yet, or has detached, is an error of the program, and is left to the host. If an origin
 * has found a range before, it accesses the same memory as before, since an address of a process
 * keeps its position in the file.
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

enum { ATTACHED_FIRST = 4 };

struct attached_table {
    _Alignas(LINE) struct sync_word sequence;
    _Atomic uint32_t count;
    _Atomic uint64_t ranges; /* position of the array in the file */
    struct attached_range first[ATTACHED_FIRST];
};

/* A dynamic window as its rank sees it. */
struct attached {
    pthread_mutex_t mutex; /* held by a thread that changes the table or opens an epoch below */
    struct attached_table *own;
    uint32_t capacity; /* of the array of ranges */
    char **arrays;     /* those that have been allocated; each has twice the room of the last */
    uint32_t array_count;
    struct attached_peer {
        struct attached_table *table;
        /* The host's window is in an epoch towards this target, and has operations that no flush
         * has completed. */
        _Atomic bool below, outstanding;
    } peer[];
};

/* Create the table of this rank, for a window of `size` ranks. NULL: no memory. */
struct attached *attached_create(uint32_t size);

/* `free_table`: no other rank reads the table. */
void attached_destroy(struct attached *a, bool free_table);

/* The position of this rank's table, for the offer; and the tables of all ranks, from the offers.
 */
uint64_t attached_position(const struct attached *a);
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

/* How much of [low, high), which is not empty, lies in one range of the table. Unless nothing does,
 * `found` is the first range of which a part lies there. */
enum attached_part attached_find(struct attached_table *table, uint64_t low, uint64_t high,
                                 struct attached_found *found);

/* Whether the table has not changed since `sequence`, in any way that the calling rank can know of.
 */
static inline bool attached_unchanged(struct attached_table *table, uint32_t sequence)
{
    return atomic_load_explicit(&table->sequence.value, memory_order_relaxed) == sequence;
}

#endif
