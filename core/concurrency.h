/* Counters and mutexes of a process, which cost little while one thread at a time calls MPI. */
#ifndef MPIACCEL_CONCURRENCY_H
#define MPIACCEL_CONCURRENCY_H

#include "core/base.h"

#include <pthread.h>
#include <stdatomic.h>

/* Whether several threads may be inside MPI at once (MPI_THREAD_MULTIPLE). Set while MPI_Init still
 * runs in one thread. */
extern bool thread_concurrent;

/* Add to a counter; returns the new value. Executes no locked instruction while only one thread at
 * a time calls MPI. */
static inline uint64_t counter_add(_Atomic uint64_t *counter, uint64_t by)
{
    if (thread_concurrent)
        return atomic_fetch_add_explicit(counter, by, memory_order_relaxed) + by;
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed) + by;
    atomic_store_explicit(counter, value, memory_order_relaxed);
    return value;
}

/* Lock a mutex unless only one thread at a time calls MPI. Returns whether to unlock it. */
static inline bool lock_if_concurrent(pthread_mutex_t *mutex)
{
    bool concurrent = thread_concurrent;
    if (UNLIKELY(concurrent))
        pthread_mutex_lock(mutex);
    return concurrent;
}

static inline void unlock_if_locked(pthread_mutex_t *mutex, bool locked)
{
    if (UNLIKELY(locked))
        pthread_mutex_unlock(mutex);
}

#endif
