#include "core/lock.h"

#include "core/wait_times.h"

bool rwlock_valid(uint32_t value)
{
    return !(value & RWLOCK_EXCLUSIVE) || !(value & RWLOCK_READERS);
}

/* The new value if this rank may take the lock now, otherwise `seen`. */
static uint32_t acquired(uint32_t seen, bool exclusive, uint32_t own_claim, bool respect_claim)
{
    uint32_t claim = seen & RWLOCK_CLAIM;
    if (exclusive) {
        bool is_free =
            !(seen & (RWLOCK_EXCLUSIVE | RWLOCK_READERS)) && (!claim || claim == own_claim);
        return is_free ? RWLOCK_EXCLUSIVE : seen;
    }
    bool is_free = !(seen & RWLOCK_EXCLUSIVE) && (!claim || !respect_claim);
    return is_free ? seen + 1 : seen;
}

void rwlock_lock_contended(struct sync_word *lock, bool exclusive, uint32_t rank)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t own_claim = (rank + 1) << 16;
    uint64_t start = sync_now_ns();
    for (;;) {
        uint64_t waited = sync_now_ns() - start;
        uint32_t seen = atomic_load_explicit(&lock->value, memory_order_relaxed);
        uint32_t want = acquired(seen, exclusive, own_claim, waited < PASS_CLAIM_AFTER_NS);
        if (want != seen) {
            if (rwlock_try(lock, seen, want))
                return;
        } else if (exclusive && waited > CLAIM_AFTER_NS && !(seen & RWLOCK_CLAIM)) {
            rwlock_try(lock, seen, seen | own_claim);
        } else if (waited > SLEEP_AFTER_NS && sync_should_sleep(&wait)) {
            sync_sleep(lock, seen, waited);
        } else {
            sync_wait(&wait, lock, seen);
        }
    }
}

void rwlock_await_no_readers(struct sync_word *lock, uint32_t rank)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t own_claim = (rank + 1) << 16;
    uint64_t start = sync_now_ns();
    for (;;) {
        uint32_t seen = sync_load(lock);
        if (!(seen & RWLOCK_READERS)) {
            if ((seen & RWLOCK_CLAIM) == own_claim) {
                atomic_fetch_and_explicit(&lock->value, ~RWLOCK_CLAIM, memory_order_seq_cst);
                sync_wake(lock);
            }
            return;
        }
        if (sync_now_ns() - start > CLAIM_AFTER_NS && !(seen & RWLOCK_CLAIM))
            rwlock_try(lock, seen, seen | own_claim);
        else
            sync_wait(&wait, lock, seen);
    }
}

void mutex_lock_contended(struct sync_word *mutex)
{
    struct sync_wait wait = SYNC_WAIT;
    while (!rwlock_try(mutex, 0, 1))
        sync_wait(&wait, mutex, 1);
}
