/* Locks in shared memory. The process whose memory is locked takes no part: passive target
 * communication must complete while that process computes, sleeps or is stopped.
 *
 * mutex: held for nanoseconds during accumulate operations in bulk mode.
 * rwlock: MPI_Win_lock. One word:
 *
 *     31         30..16            15..0
 *     EXCLUSIVE  claim: rank + 1   readers
 *
 * Every change is one atomic operation by the rank that acquires or releases. Readers pass a
 * waiting writer, as they do in the hosts: a program may need the second reader to proceed before
 * the first one releases, so strict queueing would deadlock programs that the hosts run. A writer
 * that has waited long writes its claim into the word. From then on no other writer may overtake
 * it, and new readers give way to it for a bounded time. If a holder dies, the lock stays taken;
 * the host ends the job.
 */
#ifndef MPIACCEL_LOCK_H
#define MPIACCEL_LOCK_H

#include "core/sync.h"

#include <assert.h>

#define RWLOCK_EXCLUSIVE 0x80000000u
#define RWLOCK_CLAIM     0x7fff0000u
#define RWLOCK_READERS   0x0000ffffu
#define RWLOCK_MAX_RANKS 0x7fff /* the most ranks that a claim can identify */

void rwlock_lock_contended(struct sync_word *lock, bool exclusive, uint32_t rank);
/* Wait until the lock has no readers, without acquiring it. */
void rwlock_await_no_readers(struct sync_word *lock, uint32_t rank);

/* Whether the word may have this value. For tests and checks. */
bool rwlock_valid(uint32_t value);

static inline bool rwlock_try(struct sync_word *lock, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&lock->value, &from, to, memory_order_seq_cst,
                                                   memory_order_relaxed);
}

/* Take the lock. Acquire: accesses of this holder come after those of the last one. `rank`
 * identifies the claimant. */
static inline void rwlock_lock_exclusive(struct sync_word *lock, uint32_t rank)
{
    if (UNLIKELY(!rwlock_try(lock, 0, RWLOCK_EXCLUSIVE)))
        rwlock_lock_contended(lock, true, rank);
}

static inline void rwlock_lock_shared(struct sync_word *lock, uint32_t rank)
{
    uint32_t seen = atomic_load_explicit(&lock->value, memory_order_relaxed);
    if (UNLIKELY(seen > RWLOCK_READERS || !rwlock_try(lock, seen, seen + 1)))
        rwlock_lock_contended(lock, false, rank);
}

/* On other processors than x86, an atomic operation lets a later load pass an earlier store. */
static inline void rwlock_unlock_fence(void)
{
    if (!SYNC_ATOMICS_FENCE)
        sync_full_fence();
}

/* Release the lock with a full fence, as the next function does: MPI_Win_unlock completes all
 * operations before any later access of this rank. */
static inline void rwlock_unlock_exclusive(struct sync_word *lock)
{
    uint32_t before =
        atomic_fetch_and_explicit(&lock->value, ~RWLOCK_EXCLUSIVE, memory_order_seq_cst);
    assert(before & RWLOCK_EXCLUSIVE && rwlock_valid(before));
    (void)before; /* for NDEBUG */
    rwlock_unlock_fence();
    sync_wake(lock);
}

static inline void rwlock_unlock_shared(struct sync_word *lock)
{
    uint32_t before = atomic_fetch_sub_explicit(&lock->value, 1, memory_order_seq_cst);
    assert(before & RWLOCK_READERS && rwlock_valid(before));
    (void)before;
    rwlock_unlock_fence();
    sync_wake(lock);
}

void mutex_lock_contended(struct sync_word *mutex);

static inline void mutex_lock(struct sync_word *mutex)
{
    if (UNLIKELY(!rwlock_try(mutex, 0, 1)))
        mutex_lock_contended(mutex);
}

/* Release: the next holder observes all stores of this one. Not a full fence, unless
 * sync_oversubscribed is set. */
static inline void mutex_unlock(struct sync_word *mutex)
{
    assert(sync_load(mutex));
    sync_publish(mutex, 0);
}

#endif
