#include "core/lock.h"

enum {
    CLAIM_AFTER_NS = 100 * 1000,       /* a writer enters its claim */
    SLEEP_AFTER_NS = 500 * 1000,       /* who waits sleeps, to be woken when it is let go of: who
                                        * yields again and again is seldom run on a busy processor,
                                        * and others take and claim the lock meanwhile */
    PASS_CLAIM_AFTER_NS = 2000 * 1000, /* a reader no longer stands aside */
};

bool rwlock_valid(uint32_t value)
{
    return !(value & RWLOCK_EXCLUSIVE) || !(value & RWLOCK_READERS);
}

/* What the word becomes if this rank may take the lock now, `seen` if it may not. */
static uint32_t taken(uint32_t seen, bool exclusive, uint32_t mine, bool patient)
{
    uint32_t claim = seen & RWLOCK_CLAIM;
    if (exclusive) {
        bool open = !(seen & (RWLOCK_EXCLUSIVE | RWLOCK_READERS)) && (!claim || claim == mine);
        return open ? RWLOCK_EXCLUSIVE : seen;
    }
    bool open = !(seen & RWLOCK_EXCLUSIVE) && (!claim || !patient);
    return open ? seen + 1 : seen;
}

void rwlock_lock_contended(struct sync_word *lock, bool exclusive, uint32_t rank)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t mine = (rank + 1) << 16;
    uint64_t start = sync_now_ns();
    for (;;) {
        uint64_t waited = sync_now_ns() - start;
        uint32_t seen = atomic_load_explicit(&lock->value, memory_order_relaxed);
        uint32_t want = taken(seen, exclusive, mine, waited < PASS_CLAIM_AFTER_NS);
        if (want != seen) {
            if (rwlock_try(lock, seen, want))
                return;
        } else if (exclusive && waited > CLAIM_AFTER_NS && !(seen & RWLOCK_CLAIM)) {
            rwlock_try(lock, seen, seen | mine);
        } else if (waited > SLEEP_AFTER_NS) {
            sync_sleep(lock, seen);
        } else {
            sync_wait(&wait, lock, seen);
        }
    }
}

void rwlock_await_no_readers(struct sync_word *lock, uint32_t rank)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t mine = (rank + 1) << 16;
    uint64_t start = sync_now_ns();
    for (;;) {
        uint32_t seen = sync_load(lock);
        if (!(seen & RWLOCK_READERS)) {
            if ((seen & RWLOCK_CLAIM) == mine) {
                atomic_fetch_and_explicit(&lock->value, ~RWLOCK_CLAIM, memory_order_seq_cst);
                sync_wake(lock);
            }
            return;
        }
        if (sync_now_ns() - start > CLAIM_AFTER_NS && !(seen & RWLOCK_CLAIM))
            rwlock_try(lock, seen, seen | mine);
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
