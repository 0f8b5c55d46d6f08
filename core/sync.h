/* Words that several processes share, the fences between them, and the one way to wait.
 *
 * A wait is a loop around a predicate on a word:
 *
 *     struct sync_wait wait = SYNC_WAIT;
 *     uint32_t seen;
 *     while (!good(seen = sync_load(word)))
 *         sync_wait(&wait, word, seen);
 *
 * sync_wait() spins a little, gives the host MPI progress (a peer may be inside the host and need
 * us), yields, and where ranks outnumber processors sleeps on the word. Whoever changes a word that
 * others wait for says sync_wake() afterwards.
 *
 * No wake-up is lost: the waiter adds itself to `sleepers` and then the kernel compares `value`
 * with what was seen; the waker changes `value` and then reads `sleepers`. Both pairs are
 * sequentially consistent, so one of the two sees the other. A waiter that was killed leaves
 * `sleepers` too high, which costs system calls and nothing else. Sleeps are bounded all the same:
 * the host must get progress.
 */
#ifndef MPIACCEL_SYNC_H
#define MPIACCEL_SYNC_H

#include "core/base.h"

#include <stdatomic.h>

struct sync_word {
    _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

struct sync_wait {
    uint32_t rounds;
};
#define SYNC_WAIT ((struct sync_wait){0})

/* Acquire: what the writer of the word did before is visible after. */
static inline uint32_t sync_load(struct sync_word *word)
{
    return atomic_load_explicit(&word->value, memory_order_acquire);
}

/* More ranks than processors: waiting means sleeping, and whoever publishes must look for sleepers.
 * The same on all ranks of a node. */
extern bool sync_oversubscribed;

/* One round of waiting while `word` holds `seen`. May return at any time. */
void sync_wait(struct sync_wait *wait, struct sync_word *word, uint32_t seen);

/* The same asleep, for a millisecond at most: where waiting has taken long already and whoever
 * changes the word says sync_wake(), few ranks or many. */
void sync_sleep(struct sync_word *word, uint32_t seen);

/* One round of waiting for something that wakes nobody. */
void sync_pause(struct sync_wait *wait);

/* Of the monotonic clock. */
uint64_t sync_now_ns(void);

/* Of the processor's clock, where it has one that costs next to nothing; else the same. */
static inline uint64_t sync_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return sync_now_ns();
#endif
}

void sync_wake_sleepers(struct sync_word *word);

/* After a sequentially consistent change of word->value. */
static inline void sync_wake(struct sync_word *word)
{
    if (UNLIKELY(atomic_load_explicit(&word->sleepers, memory_order_seq_cst)))
        sync_wake_sleepers(word);
}

/* Publish `value` and all that was written before it: a full fence, for whoever polls and whoever
 * sleeps. */
static inline void sync_publish_ordered(struct sync_word *word, uint32_t value)
{
    atomic_exchange_explicit(&word->value, value, memory_order_seq_cst);
    sync_wake(word);
}

/* Publish `value` and all that was written before it, to whoever looks: a release. Cheaper than
 * sync_publish_ordered(), which also orders what was written before against what is read after. */
static inline void sync_publish(struct sync_word *word, uint32_t value)
{
    if (UNLIKELY(sync_oversubscribed))
        sync_publish_ordered(word, value);
    else
        atomic_store_explicit(&word->value, value, memory_order_release);
}

/* Counts that only grow are compared so that they may wrap. */
static inline bool sync_reached(uint32_t value, uint32_t goal)
{
    return (int32_t)(value - goal) >= 0;
}

void sync_wait_until_slow(struct sync_word *word, uint32_t goal);

/* Until a count that only grows has reached `goal`. */
static inline void sync_wait_until(struct sync_word *word, uint32_t goal)
{
    if (!sync_reached(sync_load(word), goal))
        sync_wait_until_slow(word, goal);
}

/* Everything before is visible everywhere before anything after. On x86 also orders non-temporal
 * stores. */
static inline void sync_full_fence(void)
{
#if defined(__x86_64__)
    /* What the compiler makes of atomic_thread_fence() is the same on the word at the top of the
     * stack, often a saved register that is wanted again at once: half as slow again. This one lies
     * where nobody waits for it. */
    __asm__ volatile("lock orq $0, -192(%%rsp)" ::: "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Whether a read-modify-write on one word is a full fence for all others too. */
#if defined(__x86_64__)
#define SYNC_ATOMICS_FENCE true
#else
#define SYNC_ATOMICS_FENCE false
#endif

/* `crowded`: see sync_oversubscribed. `progress`: one step of the host MPI, NULL for none. */
void sync_configure(bool crowded, void (*progress)(void));

/* One step of the host. */
void sync_progress(void);

/* The same if it is time for one: for calls that never wait, however often or seldom they come
 * (H10). `next` is the calling thread's, 0 at first. */
void sync_progress_if_due(uint64_t *next);

/* The program polls: it has nothing else to do. A step of the host, and way for a rank that has. */
void sync_yield(void);

#endif
