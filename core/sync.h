/* Words shared by processes, the fences between them, and the only way to wait.
 *
 * A wait is a loop around a predicate on a word:
 *
 *     struct sync_wait wait = SYNC_WAIT;
 *     uint32_t seen;
 *     while (!good(seen = sync_load(word)))
 *         sync_wait(&wait, word, seen);
 *
 * sync_wait() spins briefly, then yields, and if sync_oversubscribed is set finally sleeps on the
 * word. It spins less if a rank of another job waits on the same processor. Meanwhile it drives the
 * host's progress, because the awaited rank may be inside the host and need this one. A rank that
 * changes a word that others wait for calls sync_wake() afterwards.
 *
 * No wake-up is lost. The waiter increments `sleepers`, then Linux compares `value` with the value
 * seen. The waker changes `value`, then reads `sleepers`. Both pairs are sequentially consistent,
 * so one of the two sees the other. A waiter that was killed leaves `sleepers` too high, which
 * costs system calls and nothing else. Every sleep is bounded all the same, since the host needs
 * progress. A sleep also ends when another rank announces a message of the host
 * (sync_set_host_mail()). sync_wait() then yields and drives progress for a while before it sleeps
 * again, because more messages may follow.
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
    bool yield_was_long; /* the last yield: YIELD_TICKS_LONG or more */
    uint64_t last;       /* sync_ticks() when the time spent polling was last counted */
};
#define SYNC_WAIT ((struct sync_wait){0})

/* Acquire: everything that the writer stored before the word is visible afterwards. */
static inline uint32_t sync_load(struct sync_word *word)
{
    return atomic_load_explicit(&word->value, memory_order_acquire);
}

/* The node is oversubscribed, or MPIACCEL_WAIT is `yield` or `sleep`: waiting ranks sleep, and
 * ranks that publish check for sleepers. The value is the same on all ranks of a node. */
extern bool sync_oversubscribed;

/* Perform one round of waiting while `word` holds `seen`. May return at any time. */
void sync_wait(struct sync_wait *wait, struct sync_word *word, uint32_t seen);

/* Sleep while `word` holds `seen`, for an eighth of the time already waited, at least one and at
 * most four milliseconds. Call this in waits that have already lasted long, on words whose writers
 * always call sync_wake(). */
void sync_sleep(struct sync_word *word, uint32_t seen, uint64_t waited_ns);

/* Whether a wait that has lasted long should continue with sync_sleep(): the node is
 * oversubscribed, or a thread that computes has the processor. Otherwise a sleep gains nothing, and
 * a thread that is woken may have to wait for the processor of the one that wakes it. */
static inline bool sync_should_sleep(const struct sync_wait *wait)
{
    return sync_oversubscribed || wait->yield_was_long;
}

/* Sleep while `word` holds `seen`: for 50 us at first, twice as long after every eight naps of this
 * wait, and at most four milliseconds. Makes no progress. */
void sync_nap(struct sync_word *word, uint32_t seen, uint32_t naps);

/* Perform one round of waiting for a condition whose change is not followed by sync_wake(). Where
 * sync_wait() would sleep on the word, this function sleeps for a fixed time. */
void sync_pause(struct sync_wait *wait);

/* The monotonic clock. */
uint64_t sync_now_ns(void);

/* The time stamp counter where reading it costs next to nothing, otherwise the monotonic clock. */
static inline uint64_t sync_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return sync_now_ns();
#endif
}

/* How the threads of this process have spent the time in which they waited. Waits of less than a
 * few microseconds are not counted. */
enum wait_kind { WAITED_POLLING, WAITED_YIELDING, WAITED_SLEEPING, WAIT_KINDS };
void sync_waited(enum wait_kind kind, uint64_t ticks);
uint64_t sync_waited_ticks(void); /* the sum over all kinds */
uint64_t sync_waited_ns(enum wait_kind kind);
uint64_t sync_ns_of_ticks(uint64_t ticks);

/* The time since the first sync_configure(); 0: there was none. */
uint64_t sync_elapsed_ns(void);

/* Yield the processor. Returns the duration in ticks, which core/wait_times.h interprets. */
uint64_t sync_yield_processor(void);

void sync_wake_sleepers(struct sync_word *word);

/* Call after a sequentially consistent change of word->value. */
static inline void sync_wake(struct sync_word *word)
{
    if (UNLIKELY(atomic_load_explicit(&word->sleepers, memory_order_seq_cst)))
        sync_wake_sleepers(word);
}

/* Publish `value` and everything stored before it, to ranks that poll and ranks that sleep. The
 * change is ordered before the load of `sleepers`. */
static inline void sync_publish_ordered(struct sync_word *word, uint32_t value)
{
    atomic_exchange_explicit(&word->value, value, memory_order_seq_cst);
    sync_wake(word);
}

/* Publish `value` and everything stored before it. Unless sync_oversubscribed is set, this is only
 * a release. It is cheaper than sync_publish_ordered(), whose full fence waits for the line to
 * return from its last reader. */
static inline void sync_publish(struct sync_word *word, uint32_t value)
{
    if (UNLIKELY(sync_oversubscribed))
        sync_publish_ordered(word, value);
    else
        atomic_store_explicit(&word->value, value, memory_order_release);
}

/* Compare counts that only grow and may wrap. */
static inline bool sync_reached(uint32_t value, uint32_t goal)
{
    return (int32_t)(value - goal) >= 0;
}

void sync_wait_until_slow(struct sync_word *word, uint32_t goal);

/* Wait until a count that only grows has reached `goal`. */
static inline void sync_wait_until(struct sync_word *word, uint32_t goal)
{
    if (!sync_reached(sync_load(word), goal))
        sync_wait_until_slow(word, goal);
}

/* Full fence: everything before it is visible to all before anything after it. On x86 it orders
 * non-temporal stores, too. */
static inline void sync_full_fence(void)
{
#if defined(__x86_64__)
    /* gcc's atomic_thread_fence() is a locked operation on the word at the top of the stack. That
     * word is often a saved register, whose pop then waits for the fence: a put and a flush take
     * 17.7 instead of 12.5 ns. Nothing waits for the word used here. */
    __asm__ volatile("lock orq $0, -192(%%rsp)" ::: "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Order non-temporal stores of the program before later stores, such as the one that publishes the
 * address of its data. On x86 a release does not order them. */
static inline void sync_store_fence(void)
{
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#endif
}

/* Whether an atomic read-modify-write on one word is a full fence for all other words. */
#if defined(__x86_64__)
#define SYNC_ATOMICS_FENCE true
#else
#define SYNC_ATOMICS_FENCE false
#endif

/* Between the calls of the next two functions, the thread may sleep on `word`. The increment is
 * ordered before all later loads: of the word by Linux, and of the host's queue by the host. */
static inline void sync_announce_sleep(struct sync_word *word)
{
    atomic_fetch_add_explicit(&word->sleepers, 1, memory_order_seq_cst);
    if (!SYNC_ATOMICS_FENCE)
        sync_full_fence();
}

static inline void sync_end_sleep(struct sync_word *word)
{
    atomic_fetch_sub_explicit(&word->sleepers, 1, memory_order_relaxed);
}

/* `oversubscribed`: see sync_oversubscribed. `progress`: one progress step of the host MPI; NULL:
 * none. */
void sync_configure(bool oversubscribed, void (*progress)(void));

/* Between the calls of the next two functions, the thread may sleep on `mail`, and is also counted
 * in `asleep`, which all members of the node share. A process that has sent a message of the host
 * executes a full fence and reads `asleep`. If `asleep` is positive, it reads the receiver's
 * `mail->sleepers`. If that is positive, too, it increments `mail->value` and calls
 * sync_wake_sleepers(). */
static inline void sync_announce_mail_sleep(struct sync_word *mail, _Atomic uint32_t *asleep)
{
    atomic_fetch_add_explicit(asleep, 1, memory_order_seq_cst);
    sync_announce_sleep(mail);
}

static inline void sync_end_mail_sleep(struct sync_word *mail, _Atomic uint32_t *asleep)
{
    sync_end_sleep(mail);
    atomic_fetch_sub_explicit(asleep, 1, memory_order_relaxed);
}

/* Let sleeps in sync_wait() and sync_sleep() also end when `mail` changes. Both words must stay
 * mapped until the next call. NULL: no such word. */
void sync_set_host_mail(struct sync_word *mail, _Atomic uint32_t *asleep);

/* Let each progress step also call `answer`, which must not wait: another process may be waiting
 * for this one to copy (peer_copy/copy_request.h). */
void sync_set_service(void (*answer)(void));

/* Make one progress step of the host. */
void sync_progress(void);

/* When progress of the host is due in calls of a thread that never wait; initially 0. */
struct sync_due {
    uint64_t next;          /* time, in ticks */
    uint64_t shortest_step; /* in ticks, except first ones; 0: none was made */
    bool moves_data;        /* the last steps moved data of a message; more probably follow */
};

/* Make one progress step of the host if one is due, or several if the last one was long ago, and
 * more while they move data. For calls that never wait: a program may poll with them while a peer
 * inside the host needs this rank. Bounds the share of time spent on progress however often the
 * calls come. `due` belongs to the calling thread. */
void sync_progress_if_due(struct sync_due *due);

/* What a call with which programs poll has found: the value at an address. */
struct sync_seen {
    const void *at;
    uint64_t value;
};

/* Call after every so many calls that read memory and never wait. If this one has found the same as
 * the last one, the program polls, and if sync_oversubscribed is set it yields: the rank that it
 * waits for may need the processor. A program that works rarely finds the same value at the same
 * address again. `last` belongs to the calling thread; initially zero. */
void sync_yield_if_same(struct sync_seen *last, const void *at, uint64_t value);

/* Call when a call with which the program polls, such as MPI_Win_test, has returned false. Makes
 * one progress step of the host and, if sync_oversubscribed is set, yields the processor. */
void sync_yield(void);

#endif
