/* Memory from which the hosts of other members fetch messages of this process (cma.h), and which
 * tells how much they have fetched. For a host that learns late of what has been received, MPICH:
 * it waits for an answer, which may stay with a receiver that goes on to compute.
 *
 *     taken, of each place | where begins what lies here, of each place | places
 *
 * Who writes: `taken` of the place where a message begins, who has fetched some of it, so many
 * bytes more, released behind the copy; `begins`, the owner, before it sends from there. Where the
 * outbox is and how long stands in the owner's record as one word, so that nobody sees half of a
 * change. Owner and receiver need no order of their own for either: a message of the host's is
 * between them.
 *
 * Who truncates a message, or fetches it by the kernel, or dies, does not take it. Then it has been
 * received when the host says so, as without all this.
 *
 * Threads: a lock around what is free. A parcel is its holder's.
 */
#ifndef MPIACCEL_OUTBOX_H
#define MPIACCEL_OUTBOX_H

#include "core/layout.h"

/* Memory for a message. */
struct parcel {
    char *at; /* NULL: none */
    size_t room;
    const _Atomic uint64_t *taken; /* NULL: it is not from the outbox */
    uint64_t goal;                 /* that, when all that was sent is taken */
};

/* There may be messages of so many bytes together, and copies of as many that are kept. Memory is
 * had with the first one; what there is stays if it has that. */
void outbox_open(size_t bytes);

/* All parcels have been given back. A small one stays for the next time. */
void outbox_close(void);

struct parcel outbox_take(size_t bytes);

/* False: it is not from here. */
bool outbox_give(const struct parcel *parcel);

/* The host has begun to send so many bytes from its beginning. */
static inline void outbox_sent(struct parcel *parcel, size_t bytes)
{
    parcel->goal += bytes;
}

/* Have receivers fetched all that was sent? False where nobody knows. */
static inline bool outbox_taken(const struct parcel *parcel)
{
    /* Acquire: what they have fetched may be written. */
    return parcel->taken &&
           atomic_load_explicit(parcel->taken, memory_order_acquire) == parcel->goal;
}

/* A record's word is the position in the file, a multiple of OUTBOX_PLACE, and in its last bits the
 * length in units. */
enum { OUTBOX_PLACE = 4096, OUTBOX_UNIT = 1 << 20 };

void outbox_count(uint64_t outbox, uint64_t position, size_t bytes);

/* So many bytes of a member's memory have been fetched, at this place of the file. */
HOT_INLINE void outbox_fetched(struct layout_member *owner, uint64_t position, size_t bytes)
{
    uint64_t outbox = atomic_load_explicit(&owner->outbox, memory_order_relaxed);
    uint64_t units = outbox % OUTBOX_PLACE;
    if (UNLIKELY(position - (outbox - units) < units * OUTBOX_UNIT))
        outbox_count(outbox, position, bytes);
}

#endif
