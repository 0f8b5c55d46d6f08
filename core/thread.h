/* What a thread has to itself: its counters and its line for atomic operations in flight. */
#ifndef MPIACCEL_THREAD_H
#define MPIACCEL_THREAD_H

#include "core/stats.h"
#include "core/sync.h"

/* Odd while its thread has a native atomic operation in flight on some window; one writer. See
 * rma_shm/atomic.h. */
struct inflight {
    _Alignas(LINE) _Atomic uint32_t count;
};
enum { INFLIGHT_SLOTS = 16 }; /* a process; threads beyond that take the locked path */

struct thread {
    struct stats_counts stats;
    struct inflight *inflight; /* NULL: none was free, or the process has none yet */
    uint64_t next_progress;    /* see sync_progress_if_due() */
    uint32_t shmem_calls;      /* fast ones, of shmem/ */
    uint32_t inside;           /* depth of our own calls into the host (H4) */
    bool heap_bound;           /* its allocations come from the shared heap */
};

/* Not of the initial-exec model: one such variable, and all of the library's thread-local memory,
 * jemalloc's 2.6 KB too, would have to fit into what is left of the static block, and a late dlopen
 * of this library would fail. By descriptors (-mtls-dialect=gnu2) an access costs a nanosecond. */
extern __thread struct thread *thread_current;

struct thread *thread_attach(void);

HOT_INLINE struct thread *thread_self(void)
{
    struct thread *t = thread_current;
    return LIKELY(t != NULL) ? t : thread_attach();
}

/* The process's lines, INFLIGHT_SLOTS of them, where its peers can read them. NULL: none any more.
 */
void thread_offer_inflight(struct inflight *slots);

/* Give the calling thread a line if there is one. */
void thread_take_inflight(struct thread *thread);

/* Fold the counts of all living threads; for Finalize. */
void thread_fold_all(void);

/* Every so many fast calls of a kind we look at the clock: whether it is time for a step of the
 * host (H10). */
enum { CALLS_PER_LOOK = 64 };

/* Count a fast call. */
HOT_INLINE void thread_count(struct thread *thread, unsigned call, size_t bytes)
{
    thread->stats.bytes[call] += bytes;
    if (UNLIKELY(++thread->stats.fast[call] % CALLS_PER_LOOK == 0))
        sync_progress_if_due(&thread->next_progress);
}

/* Whether several threads may be inside MPI at once (MPI_THREAD_MULTIPLE). Set before the second
 * one comes. */
extern bool thread_concurrent;

/* A counter of the process that all its threads change: no locked instruction where there is only
 * one thread at a time. Returns the new value. */
static inline uint64_t thread_add(_Atomic uint64_t *counter, uint64_t by)
{
    if (thread_concurrent)
        return atomic_fetch_add_explicit(counter, by, memory_order_relaxed) + by;
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed) + by;
    atomic_store_explicit(counter, value, memory_order_relaxed);
    return value;
}

#endif
