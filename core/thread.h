/* The state of a thread: its counters, and its slot for atomic operations in flight, which peers
 * read. */
#ifndef MPIACCEL_THREAD_H
#define MPIACCEL_THREAD_H

#include "core/concurrency.h"
#include "core/stats.h"
#include "core/sync.h"

#include <string.h>

/* Odd while its thread has a native atomic operation in flight on some window. One writer. See
 * rma_shm/atomic.h. */
struct inflight {
    _Alignas(LINE) _Atomic uint32_t count;
};
enum { INFLIGHT_SLOTS = 16 }; /* per process; threads beyond that always use bulk mode */

struct thread {
    struct stats_counts stats;
    struct inflight *inflight; /* NULL: no slot was free, or the process has none yet */
    struct sync_due progress;
    struct sync_seen read, synchronised; /* see sync_yield_if_same() */
    uint32_t shmem_calls;                /* number of OpenSHMEM calls */
    uintptr_t
        recorded_frame;   /* of the call that is being recorded (pmpi_wrap/recording.h); 0: none */
    uint64_t repeated_ns; /* when recording_repeat()'s action was last due in this thread */
    uint32_t inside;      /* nesting depth of our own calls into the host */
    bool heap_bound;      /* allocations of this thread come from the shared heap */
};

/* This variable does not use the initial-exec TLS model. One that did would force all thread-local
 * memory of the library, including 2.6 KB of jemalloc, into the remainder of the static TLS block,
 * and a late dlopen() of the library would fail. With TLS descriptors (-mtls-dialect=gnu2) an
 * access costs a nanosecond. */
extern __thread struct thread *thread_current;

struct thread *thread_attach(void);

HOT_INLINE struct thread *thread_self(void)
{
    struct thread *t = thread_current;
    return LIKELY(t != NULL) ? t : thread_attach();
}

/* Set the INFLIGHT_SLOTS slots of the process, in memory that its peers read. NULL: from now on no
 * thread takes a slot. */
void thread_offer_inflight(struct inflight *slots);

/* Give the calling thread a slot if one is free. */
void thread_take_inflight(struct thread *thread);

/* Fold the counts of all living threads into those of the process, at MPI_Finalize. */
void thread_fold_all(void);

/* A program may poll with fast calls while a peer inside the host waits for it. So after this many
 * fast calls of one kind, the thread reads the clock and, if it is time, drives the host's
 * progress. */
enum { CALLS_PER_CLOCK_READ = 64 };

/* Count a fast call that has read `bytes` at `at`. Programs poll with such calls. */
HOT_INLINE void thread_count_read(struct thread *thread, unsigned call, size_t bytes,
                                  const void *at)
{
    thread->stats.bytes[call] += bytes;
    if (UNLIKELY(++thread->stats.fast[call] % CALLS_PER_CLOCK_READ == 0)) {
        uint64_t value = 0;
        memcpy(&value, at, bytes < sizeof value ? bytes : sizeof value);
        sync_yield_if_same(&thread->read, at, value);
        sync_progress_if_due(&thread->progress);
    }
}

/* Count a fast call of a collective. A rank that is always the last one never waits, so nothing
 * else drives its host's progress, and it may compute for long between two calls. So the clock is
 * read more often, and each time while the host moves data. */
HOT_INLINE void thread_count_collective(struct thread *thread, unsigned call, size_t bytes)
{
    enum { COLLECTIVES_PER_CLOCK_READ = 4 };
    thread->stats.bytes[call] += bytes;
    if (UNLIKELY(++thread->stats.fast[call] % COLLECTIVES_PER_CLOCK_READ == 0 ||
                 thread->progress.moves_data))
        sync_progress_if_due(&thread->progress);
}

/* Count a fast call. */
HOT_INLINE void thread_count(struct thread *thread, unsigned call, size_t bytes)
{
    thread->stats.bytes[call] += bytes;
    if (UNLIKELY(++thread->stats.fast[call] % CALLS_PER_CLOCK_READ == 0))
        sync_progress_if_due(&thread->progress);
}

#endif
