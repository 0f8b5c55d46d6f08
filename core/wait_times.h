/* How long a thread spins, yields and sleeps while it waits: all times and counts, for waits of the
 * library (core/sync.c), for locks (core/lock.c, rma_shm/sync_passive.c) and for waits inside the
 * host (pmpi_wrap/host_wait.c).
 *
 * `how` is what pmpi_wrap/wait_policy.c has chosen for the node (1 ms stands for 2^21 ticks, 2 us
 * for 2^12):
 *
 *   how      call that waits       call that polls          other call     wait of the library
 *   spin     polls                 polls                    polls          2000 rounds, yields
 *   auto     as `spin`; as `yield` while a thread that does not compute shares the processor
 *   yield    yields after 2 us     yields after 32 polls    yields after   20 rounds, 30 yields,
 *                                                           2 us           sleeps
 *   sleep    yields after 2 us,    yields after 32 polls    yields after   20 rounds, 30 yields,
 *            sleeps after 1 ms                              2 us           sleeps
 *
 * Under a CPU quota, the row `sleep` changes: a call that waits sleeps after 0.1 ms. If the quota
 * is the only shortage, and only one thread calls MPI, `polls` replaces `yields after 2 us` in this
 * row.
 *
 * Open MPI yields by itself after each poll in place of the library. In calls that poll it does so
 * only in the first CALLS_WITH_HOST_YIELD calls after a call that waits or sends, or after a poll
 * that has found something: a program often polls for the answer of a rank that needs the
 * processor. If the user has set `sleep`, a thread also sleeps in other calls and in calls that
 * poll. In the latter the library then always yields in place of Open MPI, and a thread sleeps
 * after 1 ms, not counting the time of these yields.
 *
 * The length of a yield shows who had the processor. If it is less than YIELD_TICKS_SHARED, no
 * other thread had it; if it is at least YIELD_TICKS_LONG, a thread that computes; in between, a
 * waiting rank of another job, which yields back soon. Linux 6.18 charges a yield as a whole time
 * slice, so a rank that yields in each wait hardly runs beside a thread that computes.
 */
#ifndef MPIACCEL_WAIT_TIMES_H
#define MPIACCEL_WAIT_TIMES_H

/* The time stamp counter advances by 2000 to 4000 in a microsecond. */
enum {
    YIELD_TICKS_SHARED = 1 << 14, /* about 5 us */
    YIELD_TICKS_LONG = 1 << 20,   /* 0.3 to 0.5 ms on x86, otherwise 1 ms */
};

/* Waits of the library, in rounds of each kind. A round of spinning takes about 40 ns, a round of
 * yielding a microsecond or a time slice. On an oversubscribed node, spinning keeps the awaited
 * rank from running.
 *
 * A rank that yields drives the host's progress after fewer rounds than one that spins, since its
 * rounds are longer. Progress must not be rare: a peer may be receiving messages of this rank.
 * Unless this rank makes progress, the peer's host can run out of room for answers. That host then
 * keeps the last answers until the peer calls it again, which may be long after the event that this
 * rank waits for. */
enum {
    ROUND_TICKS = 70, /* minimum duration of a spinning round: decision 059 */
    SPIN = 2000,
    SPIN_OVERSUBSCRIBED = 20,
    YIELD_OVERSUBSCRIBED = 30,
    SHARED_TICKS = 1 << 26, /* after a yield to another job, waits spin as if oversubscribed */
    ROUNDS_PER_PROGRESS = 64,
    YIELDS_PER_PROGRESS = 4,
};

/* Sleeps, in the library and inside the host. Without exception they are bounded. */
enum {
    SLEEP_NS_MIN = 50 * 1000,
    SLEEP_NS_MAX = 1000 * 1000, /* raised to an eighth of the time already waited, at most
                                   NAP_NS_MAX: longest_sleep() in core/sync.c */
    NAP_NS_MAX = 4000 * 1000,
    NAPS_PER_DOUBLING = 8,
};

/* In calls that may never wait, progress is due after HOST_SHARE times as long as the last progress
 * took, or after TICKS_PER_PROGRESS_MAX if that is less. So a host whose progress is slow takes a
 * larger share of the time. If it is late, one more step is made for each TICKS_PER_PROGRESS_MAX,
 * up to STEPS_AT_ONCE in all, because UCX needs many steps to copy a long message.
 *
 * Where the OS forbids copies between processes, a host copies a long message in pieces, and has
 * room for few. So steps go on until none has moved data for TICKS_PER_PROGRESS_MAX, for at most
 * 1/MOVING_SHARE of the time since progress was due, or MOVING_TICKS_MAX if that is less. A step
 * that moves data takes at least TICKS_OF_MOVING_STEP, and MOVING_STEP_RATIO times as long as
 * the shortest step so far. For the first of several steps, which finds cold caches, both limits
 * are COLD_STEP_RATIO times as high. On an EPYC a step took 130 ticks with UCX and 1500 with
 * Open MPI, a first one 1300 to 28000, and one that moved data 18000 to 800000. */
enum {
    HOST_SHARE = 32,
    TICKS_PER_PROGRESS_MAX = 1 << 16, /* about 25 us */
    STEPS_AT_ONCE = 8,
    MOVING_SHARE = 4,
    MOVING_TICKS_MAX = 1 << 21, /* about 1 ms */
    TICKS_OF_MOVING_STEP = 1 << 14,
    MOVING_STEP_RATIO = 8,
    COLD_STEP_RATIO = 8,
};

/* Locks. */
enum {
    /* After this time a writer enters its claim. */
    CLAIM_AFTER_NS = 100 * 1000,
    /* After this time a waiter on a busy processor sleeps until the lock is released. If it only
     * yielded, it would seldom run, and other ranks would take and claim the lock meanwhile. */
    SLEEP_AFTER_NS = 500 * 1000,
    /* After this time a reader ignores the claim of a writer. */
    PASS_CLAIM_AFTER_NS = 2000 * 1000,
    /* How long lock_all waits before it withdraws, and at most how long it then stays withdrawn.
     * Both times are doubled with each attempt, up to the maximum. */
    WITHDRAW_AFTER_NS = 2000 * 1000,
    WITHDRAW_AFTER_NS_MAX = 512 * WITHDRAW_AFTER_NS,
};

/* Waits inside the host. */
enum {
    POLLS_PER_PROBE = 16384,          /* a probe asks whether to yield; about 1 ms */
    LOST_NS_MIN = 200000,             /* of processor time; a smaller loss may be due to the OS */
    POLLS_PER_PROBE_SHARED = 256,     /* while a thread yields */
    POLLS_AT_FIRST = 4,               /* of a wait: merely passed on to the host, if that yields
                                         by itself */
    POLLS_OF_SHORT_YIELDS = 16,       /* the most polls between two that are timed, in a call that
                                         waits, if the host yields by itself */
    POLLS_OF_OTHER_CALL = 256,        /* the same in other calls if no thread sleeps there */
    TICKS_BETWEEN_POLLS = 1 << 14,    /* after more, a new wait begins */
    HOST_SPIN_TICKS = 1 << 12,        /* of a wait, before a thread yields */
    HOST_YIELD_TICKS = 1 << 21,       /* of a wait, before a thread sleeps */
    HOST_YIELD_TICKS_QUOTA = 1 << 18, /* under a quota: a few times what a sleep costs */
    POLLS_PER_YIELD = 32,             /* between two yields of a program that polls */
    CALLS_WITH_HOST_YIELD = 8,        /* the first calls that poll keep the host's own yield on */
    /* The longer a yield took, the more often a program polls before the next one: once more for
     * each so many ticks. So it polls for a small part of the time that the yield took. With a
     * larger part, the threads of one processor would make each other's yields longer and
     * longer. */
    YIELD_TICKS_PER_POLL = 1 << 14,
    POLLS_PER_LONG_YIELD_MAX = 512,
    /* After a yield to a thread that computes, some of the next waits sleep at once: the OS prefers
     * a thread that wakes up to one that has yielded. Their number doubles each time, since others
     * may compute for long. */
    WAITS_WITHOUT_YIELD_MAX = 256,
    /* With `auto`, a thread stops yielding after two such yields in a row, or if more than one in
     * about SHORT_PER_LONG yields is long. It then only polls for some probes, twice as many as the
     * last time. */
    SHORT_PER_LONG = 64,
    LONG_YIELD_SCORE_MAX = 2 * SHORT_PER_LONG,
    DOUBLINGS_MAX = 6,
};

#endif
