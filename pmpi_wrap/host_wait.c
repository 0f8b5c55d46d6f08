#include "pmpi_wrap/host_wait.h"

#include "core/stats.h"
#include "core/thread.h"
#include "node/node.h"

#include <sys/resource.h>
#include <time.h>

enum {
    POLLS_PER_PROBE = 16384,      /* a millisecond, more or less */
    LOST_NS_MIN = 200000,         /* less is taken by interrupts and threads of the OS */
    POLLS_PER_PROBE_SHARED = 256, /* while a thread yields */
    POLLS_AT_FIRST = 8,           /* of a wait: a host that yields itself needs no help */
    /* The time stamp counter advances by 2000 to 4000 in a microsecond. */
    TICKS_BETWEEN_POLLS = 1 << 14, /* of one wait */
    SPIN_TICKS = 1 << 12,          /* of a wait, before a thread yields */
    YIELD_TICKS = 1 << 21,         /* the usual value of yield_ticks */
    YIELD_TICKS_QUOTA = 1 << 18,   /* under a quota: a few times what a sleep costs */
    /* The time between two yields of a program that polls. It grows by an eighth if the polls since
     * the last yield have found no message, and is halved if one has. A program that only waits
     * finds a message after every second to sixth yield, MPIRandomAccess after every 160th. */
    POLLING_TICKS = 1 << 12,
    POLLING_TICKS_MIN = 1 << 9,
    POLLING_TICKS_MAX = 1 << 15, /* a yield may take as long for each other thread that polls */
    /* After a yield that took long and found nothing, a program polls for a small part of that
     * time. With a larger part, the threads of one processor would make each other's yields longer
     * and longer. */
    YIELD_TO_PAUSE = 32,
    PAUSE_TICKS_MAX = 1 << 18,
    /* A program with work to do pays for each poll that is timed. If its polls follow each other
     * quickly, and no yield is due before, so many of them only go on to the host. */
    POLLS_NOT_TIMED = 15,
    SHORT_POLL_TICKS = 1 << 9,
    /* After a yield to a thread that computes (YIELD_TICKS_LONG), some of the next waits sleep at
     * once: the OS prefers a thread that wakes up to one that has yielded. Their number doubles
     * each time, since others may compute for long. */
    WAITS_WITHOUT_YIELD_MAX = 256,
    /* With `auto`, a thread stops yielding after two such yields in a row, or if more than one in
     * about SHORT_PER_LONG yields is long. It then only polls for some probes, twice as many as the
     * last time. */
    SHORT_PER_LONG = 64,
    LONG_YIELD_SCORE_MAX = 2 * SHORT_PER_LONG,
    DOUBLINGS_MAX = 6,
};

enum wait_setting host_wait;
bool host_wait_intervenes;
uint32_t host_wait_polls_left = UINT32_MAX;
static bool yields_in_waits;
static _Atomic bool host_acts_alone;
static uint64_t yield_ticks;         /* of a wait, before a thread sleeps */
static set_yield_fn *set_host_yield; /* NULL: it does not */

enum { NOBODY = -2, ANYBODY = -1 };

struct poller {
    uint64_t began;         /* sync_ticks() when this poll began */
    uint64_t last;          /* when the last one ended */
    uint64_t since;         /* when this wait began; 0: with the next poll */
    bool gives_way;         /* has yielded or slept in this wait */
    struct sync_word *mail; /* the word in whose `sleepers` the thread is counted; NULL: none */
    uint32_t seen;          /* its value before the last poll */
    uint32_t naps;          /* in this wait */
    uint32_t waits_without_yield, after_next_long_yield;
    uint32_t suspended;
    enum call_kind call;
    uint64_t polling_ticks;    /* between two yields of a program that polls */
    uint64_t yielded_at;       /* when it last yielded; 0: it has found a message since */
    uint64_t yield_took;       /* that yield */
    int recipient;             /* NOBODY, ANYBODY, or a member that has not been woken yet */
    int64_t without_ns;        /* the time without a processor, at the last probe */
    long preemptions;          /* ru_nivcsw, then */
    uint32_t until_probe;      /* polls until the next probe */
    uint32_t long_yield_score; /* SHORT_PER_LONG per long yield, less 1 per short one */
    uint32_t doublings, probes_to_skip; /* since yields have taken long */
    uint32_t untimed;       /* polls from `untimed_since` to the next one that is timed */
    uint32_t left;          /* host_wait_polls_left when suspended */
    uint64_t untimed_since; /* sync_ticks() when `untimed` was set */
    uint64_t waited;        /* sync_waited_ticks() then */
    uint64_t sample;        /* duration of the previous timed poll */
};
static __thread struct poller poller = {.recipient = NOBODY, .polling_ticks = POLLING_TICKS};

/* Where nothing is shared. */
static struct sync_word own_mail;

static struct sync_word *own_word(void)
{
    return node.header ? &node_member(node.me)->mail : &own_mail;
}

void host_wait_configure(enum wait_setting how, bool quota, bool yields, set_yield_fn *set_yield)
{
    yields_in_waits = yields && !set_yield;
    host_wait = how;
    set_host_yield = set_yield;
    host_wait_intervenes = how > WAIT_auto;
    yield_ticks = quota ? YIELD_TICKS_QUOTA : YIELD_TICKS;
    host_wait_polls_left = how == WAIT_spin || (how == WAIT_yield && set_yield) ? UINT32_MAX
                           : how == WAIT_auto                                   ? POLLS_PER_PROBE
                                                                                : 0;
    poller.untimed = 0;
}

void host_wait_stay_awake(void)
{
    atomic_store_explicit(&host_acts_alone, true, memory_order_relaxed);
}

void host_wait_suspend(void)
{
    if (!poller.suspended++)
        poller.left = host_wait_polls_left;
}

/* Polls between host_wait_suspend() and host_wait_resume() are part of a wait of this library. That
 * wait counts its own time, so these polls are left out of the estimate. All threads share
 * host_wait_polls_left, so polls of other threads in between are left out, too. */
void host_wait_resume(void)
{
    if (--poller.suspended)
        return;
    uint32_t polls = poller.left - host_wait_polls_left;
    poller.untimed -= polls < poller.untimed ? polls : poller.untimed;
}

static void begin_wait(uint64_t now)
{
    poller.since = now;
    poller.gives_way = false;
    poller.naps = 0;
    if (poller.mail)
        sync_end_sleep(poller.mail);
    poller.mail = NULL;
}

/* Whether this thread may sleep in the call that it is in. With MPIACCEL_WAIT=sleep it may in every
 * call. */
static bool may_sleep(void)
{
    if (host_wait != WAIT_sleep)
        return false;
    return config.wait == WAIT_sleep ||
           (poller.call != CALL_OTHER && !thread_concurrent && !host_acts_alone);
}

static void forget_wait(void)
{
    poller.since = 0;
    if (set_host_yield)
        host_wait_polls_left = POLLS_AT_FIRST;
}

/* A peer that sleeps has waited for yield_ticks. If the host of this thread has not been called for
 * so long, it may owe that peer an answer, and sends it in this call or poll. Nothing is owed
 * because the thread itself has slept: messages for it wake it. */
static void note_absence(uint64_t now)
{
    if (host_wait == WAIT_sleep && !poller.mail && now - poller.began >= yield_ticks)
        poller.recipient = ANYBODY;
}

/* During CALL_POLLS the host's own yield is off, and yield_between_polls() yields in its place. A
 * callback of such a call may make a call that waits: then the host's yield is on again. */
void host_wait_enter(enum call_kind kind)
{
    if (kind == CALL_WAITS) {
        note_absence(sync_ticks());
        forget_wait();
    } else if (kind == CALL_POLLS && poller.mail &&
               sync_ticks() - poller.last > TICKS_BETWEEN_POLLS)
        begin_wait(0); /* the program has had work to do */
    if (set_host_yield && (kind == CALL_POLLS || poller.call == CALL_POLLS))
        set_host_yield(kind != CALL_POLLS);
    poller.call = kind;
}

static void polling_call_ends(bool found)
{
    if (found && poller.yielded_at) {
        poller.yielded_at = 0;
        if (poller.polling_ticks > POLLING_TICKS_MIN)
            poller.polling_ticks /= 2;
    }
    if (set_host_yield)
        set_host_yield(true);
    if (poller.mail) {
        poller.last = sync_ticks();
        if (found)
            poller.since = 0;
    }
}

/* When a call that was made in a callback ends, the rest of the call around it counts as
 * CALL_OTHER.
 */
void host_wait_leave(bool found)
{
    if (poller.call == CALL_POLLS)
        polling_call_ends(found);
    else if (poller.mail)
        begin_wait(0);
    poller.call = CALL_OTHER;
    if (poller.recipient != NOBODY)
        host_wait_sent();
}

/* ---- the sender ---- */

/* `sleepers` has been read after a full fence, and after the message was sent. */
static void wake_if_asleep(uint32_t member)
{
    struct sync_word *word = &node_member(member)->mail;
    if (!atomic_load_explicit(&word->sleepers, memory_order_seq_cst))
        return;
    atomic_fetch_add_explicit(&word->value, 1, memory_order_seq_cst);
    sync_wake_sleepers(word);
}

void host_wait_sending(int member)
{
    forget_wait();
    if (host_wait != WAIT_sleep)
        return;
    if (poller.recipient != NOBODY && poller.recipient != member)
        member = ANYBODY;
    poller.recipient = member < 0 ? ANYBODY : member;
}

void host_wait_sent(void)
{
    int recipient = poller.recipient;
    poller.recipient = NOBODY;
    if (!node.header || recipient == NOBODY)
        return;
    sync_full_fence(); /* the host's stores of the message, before the load of `sleepers` */
    if (recipient != ANYBODY)
        wake_if_asleep((uint32_t)recipient);
    else
        for (uint32_t i = 0; i < node.size; i++)
            if (i != node.me)
                wake_if_asleep(i);
}

/* ---- the receiver ---- */

/* From now on senders see that this thread sleeps. It does so when the next poll has found nothing
 * either. */
static void fall_asleep(void)
{
    poller.mail = own_word();
    sync_announce_sleep(poller.mail);
    poller.seen = sync_load(poller.mail);
}

/* Returns whether a message has been announced meanwhile. */
static bool nap(void)
{
    uint32_t seen = poller.seen;
    sync_nap(poller.mail, seen, thread_concurrent ? 0 : poller.naps++);
    poller.seen = sync_load(poller.mail);
    poller.began = sync_ticks();
    return poller.seen != seen;
}

static void count_yield(uint64_t duration)
{
    if (duration >= YIELD_TICKS_LONG)
        poller.long_yield_score += SHORT_PER_LONG;
    else if (poller.long_yield_score)
        poller.long_yield_score--;
    if (poller.long_yield_score >= LONG_YIELD_SCORE_MAX)
        poller.until_probe = 0;
}

static void note_yield(uint64_t duration)
{
    count_yield(duration);
    if (duration < YIELD_TICKS_LONG) {
        poller.after_next_long_yield = 0;
        return;
    }
    uint32_t waits = 2 * poller.after_next_long_yield + 8;
    poller.after_next_long_yield =
        waits < WAITS_WITHOUT_YIELD_MAX ? waits : WAITS_WITHOUT_YIELD_MAX;
    poller.waits_without_yield = poller.after_next_long_yield;
}

/* Count the time of the polls that the last call announced, and announce that the next `polls`
 * polls will not be timed.
 *
 * Each poll is assumed to take as long as the shorter of the last two timed polls, since a timed
 * poll may include an interrupt or a preemption. The estimate is limited to the time since the last
 * call of this function, less the waiting time counted in between. So it never raises the waiting
 * time of a process above the elapsed time. With several threads it may be too low, as the time
 * counted by other threads is subtracted, too. */
static NOINLINE void count_untimed_polls(uint32_t polls)
{
    uint64_t took = poller.last - poller.began, since = poller.last - poller.untimed_since;
    uint64_t counted = sync_waited_ticks() - poller.waited;
    uint64_t most = since > counted ? since - counted : 0;
    uint64_t estimate = poller.untimed * (took < poller.sample ? took : poller.sample);
    sync_waited(WAITED_POLLING, estimate < most ? estimate : most);
    poller.sample = took;
    poller.untimed = polls;
    poller.untimed_since = poller.last;
    poller.waited = sync_waited_ticks();
}

static void skip_polls(uint64_t now, uint64_t until_yield)
{
    if (now - poller.last < SHORT_POLL_TICKS &&
        until_yield > 2 * (uint64_t)SHORT_POLL_TICKS * POLLS_NOT_TIMED) {
        host_wait_polls_left = POLLS_NOT_TIMED;
        count_untimed_polls(POLLS_NOT_TIMED);
    }
}

/* A yield may go to a thread that computes, of another job for example, and take milliseconds. */
static uint64_t ticks_between_yields(void)
{
    uint64_t pause = poller.yielded_at ? poller.yield_took / YIELD_TO_PAUSE : 0;
    if (pause > PAUSE_TICKS_MAX)
        pause = PAUSE_TICKS_MAX;
    return pause > poller.polling_ticks ? pause : poller.polling_ticks;
}

/* The program may have work to do, so the time of a yield does not bring it closer to sleeping. */
static void yield_between_polls(uint64_t now)
{
    uint64_t last = poller.yielded_at > poller.since ? poller.yielded_at : poller.since;
    uint64_t due = last + ticks_between_yields();
    if (now < due) {
        skip_polls(now, due - now);
        return;
    }
    if (poller.yielded_at && poller.polling_ticks < POLLING_TICKS_MAX)
        poller.polling_ticks += poller.polling_ticks / 8;
    poller.yield_took = sync_yield_processor();
    count_yield(poller.yield_took);
    poller.since += poller.yield_took;
    poller.yielded_at = sync_ticks();
}

static void give_way(uint64_t now)
{
    bool sleeps = may_sleep(), polling = poller.call == CALL_POLLS;
    if (poller.mail && !sleeps)
        begin_wait(now);
    if (!polling && now - poller.since < SPIN_TICKS)
        return;
    if (sleeps && !polling && !poller.gives_way && poller.waits_without_yield) {
        poller.waits_without_yield--;
        poller.since = now - yield_ticks;
    }
    poller.gives_way = true;
    if (poller.mail) {
        if (nap())
            begin_wait(sync_ticks());
    } else if (sleeps && now - poller.since >= (polling ? YIELD_TICKS : yield_ticks)) {
        fall_asleep();
    } else if (polling) {
        yield_between_polls(now);
    } else if (yields_in_waits) {
        note_yield(sync_yield_processor());
    }
}

/* Whether other threads have used this processor since the last call: for more than LOST_NS_MIN or,
 * while threads yield between polls, for any time. A thread also loses time when it sleeps in the
 * program, but is not preempted then. A yield counts as a preemption if it went to another thread.
 */
static bool shares_processor(void)
{
    struct timespec used;
    struct rusage use;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) || getrusage(RUSAGE_THREAD, &use))
        return false;
    /* The two clocks do not run equally fast. */
    int64_t used_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
    int64_t without_ns = (int64_t)sync_now_ns() - used_ns;
    bool lost = host_wait_intervenes || without_ns - poller.without_ns > LOST_NS_MIN;
    bool shares = poller.without_ns && lost && use.ru_nivcsw > poller.preemptions;
    poller.without_ns = without_ns;
    poller.preemptions = use.ru_nivcsw;
    return shares;
}

/* Whether to yield between polls: other threads have this processor at times, but not one that
 * computes. */
static bool should_yield(void)
{
    bool shares = shares_processor();
    if (poller.long_yield_score >= LONG_YIELD_SCORE_MAX) {
        poller.long_yield_score = 0;
        if (poller.doublings < DOUBLINGS_MAX)
            poller.doublings++;
        poller.probes_to_skip = (1u << poller.doublings) - 1;
        return false;
    }
    if (host_wait_intervenes && !poller.long_yield_score)
        poller.doublings = 0;
    return shares;
}

static COLD void probe(void)
{
    if (host_wait == WAIT_spin) {
        host_wait_polls_left = UINT32_MAX;
        return;
    }
    if (host_wait_intervenes || !poller.probes_to_skip)
        host_wait_intervenes = should_yield();
    else
        poller.probes_to_skip--;
    poller.until_probe = host_wait_intervenes ? POLLS_PER_PROBE_SHARED : 0;
    host_wait_polls_left = host_wait_intervenes ? 0 : POLLS_PER_PROBE;
    count_untimed_polls(host_wait_polls_left);
}

void host_wait_before_poll(bool nests)
{
    poller.suspended += nests;
    if (poller.suspended > nests)
        return;
    uint64_t now = sync_ticks();
    /* Without regard to the time between them, since a host may take long for other work. So a wait
     * in which the thread has stopped yielding still yields at each probe; without that, two jobs
     * take each other for threads that compute. */
    bool one_wait = poller.call == CALL_WAITS || (poller.call == CALL_POLLS && poller.mail);
    if (poller.since && (one_wait || now - poller.last < TICKS_BETWEEN_POLLS))
        give_way(now);
    else
        begin_wait(now);
    now = sync_ticks();
    note_absence(now);
    poller.began = now;
}

void host_wait_polled(bool found, bool nests)
{
    poller.suspended -= nests;
    if (poller.suspended)
        return;
    poller.last = sync_ticks();
    if (found)
        poller.since = 0;
    bool yielded = set_host_yield && poller.call != CALL_POLLS;
    sync_waited(yielded ? WAITED_YIELDING : WAITED_POLLING, poller.last - poller.began);
    if (yielded)
        note_yield(poller.last - poller.began);
    if (poller.recipient != NOBODY)
        host_wait_sent();
    if (host_wait <= WAIT_auto && (!poller.until_probe || !--poller.until_probe))
        probe();
}
