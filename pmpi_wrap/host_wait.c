#include "pmpi_wrap/host_wait.h"

#include "core/stats.h"
#include "core/thread.h"
#include "core/wait_times.h"
#include "node/node.h"

#include <sys/resource.h>
#include <time.h>

enum wait_setting host_wait;
bool host_wait_intervenes;
uint32_t host_wait_polls_left = UINT32_MAX;
static uint32_t polls_at_first; /* of a wait: they are merely passed on to the host */
static bool yields_in_waits;
static _Atomic bool host_acts_alone;
static uint64_t yield_ticks;         /* of a wait, before a thread sleeps */
static set_yield_fn *set_host_yield; /* NULL: the host never yields */
static _Atomic bool host_yields;     /* now */

enum { NOBODY = -2, ANYBODY = -1 };

struct poller {
    /* The members that every call uses come first, in few cache lines: after a switch between
     * processes none of these lines is in the cache. */
    enum call_kind call;
    int recipient;            /* NOBODY, ANYBODY, or a member that has not been woken yet */
    struct sync_word *mail;   /* the word in whose `sleepers` the thread is counted; NULL: none */
    uint64_t since;           /* when this wait began; 0: it begins with the next poll */
    uint64_t used;            /* sync_ticks() at the last call that waits, poll or nap */
    uint64_t began, last;     /* sync_ticks() when the last timed poll began, and when it ended */
    _Atomic uint32_t *asleep; /* the other counter of the thread */
    uint32_t seen;            /* the value of the word before the last poll */
    uint32_t naps;            /* in this wait */
    bool gives_way;           /* has yielded or slept in this wait */
    uint32_t waits_without_yield, after_next_long_yield;
    uint32_t suspended;
    int64_t without_ns;                 /* the time without a processor, at the last probe */
    long preemptions;                   /* ru_nivcsw at the last probe */
    uint32_t until_probe;               /* polls until the next probe */
    uint32_t long_yield_score;          /* SHORT_PER_LONG per long yield, less 1 per short one */
    uint32_t doublings, probes_to_skip; /* since yields have taken long */
    uint32_t untimed;               /* polls from `untimed_since` to the next one that is timed */
    uint32_t left;                  /* host_wait_polls_left when suspended */
    uint64_t untimed_since;         /* sync_ticks() when `untimed` was set */
    uint64_t waited;                /* sync_waited_ticks() when `untimed` was set */
    uint64_t sample;                /* duration of the previous timed poll */
    uint32_t calls_with_host_yield; /* further ones that poll, with the host's own yield on */
};
static __thread struct poller poller = {.recipient = NOBODY};

/* Used where nothing is shared. */
static struct sync_word own_mail;
static _Atomic uint32_t own_asleep;

static struct sync_word *own_word(void)
{
    return node.header ? &node_member(node.me)->mail : &own_mail;
}

void host_wait_configure(enum wait_setting how, bool quota, bool yields, set_yield_fn *set_yield)
{
    yields_in_waits = yields && !set_yield;
    host_wait = how;
    set_host_yield = set_yield;
    atomic_store(&host_yields, set_yield != NULL);
    host_wait_intervenes = how > WAIT_auto;
    yield_ticks = quota ? HOST_YIELD_TICKS_QUOTA : HOST_YIELD_TICKS;
    host_wait_polls_left = how == WAIT_spin || (how == WAIT_yield && set_yield) ? UINT32_MAX
                           : how == WAIT_auto                                   ? POLLS_PER_PROBE
                                                                                : 0;
    polls_at_first = set_yield ? POLLS_AT_FIRST : 0;
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
        sync_end_mail_sleep(poller.mail, poller.asleep);
    poller.mail = NULL;
}

/* Whether this thread may sleep in the call that it is in. A program that polls may have work to do
 * between its polls, however short the time between them, so it does not sleep unless its user has
 * set MPIACCEL_WAIT=sleep, with which threads sleep in every call. */
static bool may_sleep(void)
{
    if (host_wait != WAIT_sleep)
        return false;
    return config.wait == WAIT_sleep ||
           (poller.call == CALL_WAITS && !thread_concurrent && !host_acts_alone);
}

/* A peer that sleeps has waited for yield_ticks. If the host of this thread has not been called for
 * so long, it may owe that peer an answer, and sends it in this call or poll. A thread that has
 * slept owes no answer for that reason: messages for it wake it. */
static void note_use(uint64_t now)
{
    if (UNLIKELY(now - poller.used >= yield_ticks) && host_wait == WAIT_sleep && !poller.mail)
        poller.recipient = ANYBODY;
    poller.used = now;
}

/* Switch the host's own yield. While it is off, yield_between_polls() yields instead. It is off in
 * calls of CALL_POLLS, except in the first ones after the program has sent, received or waited, and
 * stays off until a poll of another call, since programs poll again and again. */
static void let_host_yield(bool yields)
{
    if (!set_host_yield || atomic_load_explicit(&host_yields, memory_order_relaxed) == yields)
        return;
    atomic_store_explicit(&host_yields, yields, memory_order_relaxed);
    set_host_yield(yields);
}

/* Time the poll after `polls` polls, instead of a later one. */
static void skip_fewer(uint32_t polls)
{
    uint32_t fewer = host_wait_polls_left - polls;
    poller.untimed -= fewer < poller.untimed ? fewer : poller.untimed;
    host_wait_polls_left = polls;
}

static void enter_polling_call(void)
{
    if (poller.mail && sync_ticks() - poller.last > TICKS_BETWEEN_POLLS)
        begin_wait(0); /* the program has had work to do */
    bool yields = poller.calls_with_host_yield && !may_sleep();
    poller.calls_with_host_yield -= yields;
    let_host_yield(yields);
    if (!poller.since && host_wait_polls_left > POLLS_PER_YIELD)
        skip_fewer(POLLS_PER_YIELD);
}

void host_wait_enter(enum call_kind kind)
{
    poller.call = kind;
    if (kind == CALL_POLLS) {
        enter_polling_call();
        return;
    }
    poller.calls_with_host_yield = CALLS_WITH_HOST_YIELD;
    if (UNLIKELY(poller.mail))
        begin_wait(0);
    uint64_t now = sync_ticks();
    note_use(now);
    poller.since = now;
    poller.gives_way = false;
    if (host_wait_polls_left > polls_at_first)
        skip_fewer(polls_at_first);
    else
        host_wait_polls_left = polls_at_first;
}

static void polling_call_ends(bool found)
{
    if (found) {
        poller.since = 0;
        poller.calls_with_host_yield = CALLS_WITH_HOST_YIELD;
    }
    if (poller.mail)
        poller.last = sync_ticks();
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
    poller.since = 0;
    if (host_wait != WAIT_sleep)
        return;
    if (host_wait_anybody_sleeps())
        host_wait_polls_left = polls_at_first;
    if (poller.recipient != NOBODY && poller.recipient != member)
        member = ANYBODY;
    poller.recipient = member < 0 ? ANYBODY : member;
}

void host_wait_sent(void)
{
    int recipient = poller.recipient;
    poller.recipient = NOBODY;
    if (recipient == NOBODY)
        return;
    sync_full_fence(); /* between the host's stores of the message and the load of `asleep` */
    if (!host_wait_anybody_sleeps())
        return;
    if (recipient != ANYBODY)
        wake_if_asleep((uint32_t)recipient);
    else
        for (uint32_t i = 0; i < node.size; i++)
            if (i != node.me)
                wake_if_asleep(i);
}

/* ---- the receiver ---- */

/* Show senders that this thread sleeps. It sleeps when the next poll has found nothing either. */
static void fall_asleep(void)
{
    poller.mail = own_word();
    poller.asleep = node.header ? &node.header->asleep : &own_asleep;
    sync_announce_mail_sleep(poller.mail, poller.asleep);
    poller.seen = sync_load(poller.mail);
}

/* Returns whether a message has been announced meanwhile. */
static bool nap(void)
{
    uint32_t seen = poller.seen;
    sync_nap(poller.mail, seen, thread_concurrent ? 0 : poller.naps++);
    poller.seen = sync_load(poller.mail);
    poller.used = sync_ticks();
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

static enum wait_kind kind_of_poll(void)
{
    return atomic_load_explicit(&host_yields, memory_order_relaxed) ? WAITED_YIELDING
                                                                    : WAITED_POLLING;
}

/* Let the next `polls` polls be merely passed on to the host, and count the time of those that the
 * last call has skipped.
 *
 * Each poll is assumed to take as long as the shorter of the last two timed polls, since a timed
 * poll may include an interrupt or a preemption. The estimate is limited to the time since the last
 * call of this function, less the waiting time counted in between. So it never raises the waiting
 * time of a process above the elapsed time. With several threads it may be too low, as the time
 * counted by other threads is subtracted, too. */
static NOINLINE void skip_polls(uint32_t polls)
{
    uint64_t took = poller.last - poller.began, since = poller.last - poller.untimed_since;
    uint64_t counted = sync_waited_ticks() - poller.waited;
    uint64_t most = since > counted ? since - counted : 0;
    uint64_t estimate = poller.untimed * (took < poller.sample ? took : poller.sample);
    sync_waited(kind_of_poll(), estimate < most ? estimate : most);
    poller.sample = took;
    host_wait_polls_left = poller.untimed = polls;
    poller.untimed_since = poller.last;
    poller.waited = sync_waited_ticks();
}

/* The program may have work to do, so the time of a yield does not bring it closer to sleeping. A
 * yield may go to a thread that computes, of another job for example, and take milliseconds. */
static void yield_between_polls(void)
{
    uint64_t took = sync_yield_processor(), more = took / YIELD_TICKS_PER_POLL;
    count_yield(took);
    poller.since += took;
    skip_polls(POLLS_PER_YIELD +
               (uint32_t)(more < POLLS_PER_LONG_YIELD_MAX ? more : POLLS_PER_LONG_YIELD_MAX));
}

/* Whether this thread yields in place of the host. */
static bool replaces_host_yield(void)
{
    return poller.call == CALL_POLLS && !atomic_load_explicit(&host_yields, memory_order_relaxed);
}

/* Returns the time, which was `now` when it was called. */
static uint64_t give_way(uint64_t now)
{
    bool sleeps = may_sleep(), polling = replaces_host_yield();
    if (poller.mail && !sleeps)
        begin_wait(now);
    if (!polling && now - poller.since < HOST_SPIN_TICKS)
        return now;
    if (sleeps && !polling && !poller.gives_way && poller.waits_without_yield) {
        poller.waits_without_yield--;
        poller.since = now - yield_ticks;
    }
    poller.gives_way = true;
    if (poller.mail) {
        if (nap())
            begin_wait(sync_ticks());
    } else if (sleeps && now - poller.since >= (polling ? HOST_YIELD_TICKS : yield_ticks)) {
        fall_asleep();
    } else if (polling) {
        yield_between_polls();
    } else if (yields_in_waits) {
        note_yield(sync_yield_processor());
    } else {
        return now;
    }
    return sync_ticks();
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
    skip_polls(host_wait_intervenes ? 0 : POLLS_PER_PROBE);
}

/* How many polls of a host that yields by itself need not be timed after this one. In a call that
 * waits, they take half of the time for which a thread yields, at most. */
static uint32_t untimed_polls(void)
{
    if (poller.call == CALL_POLLS)
        return replaces_host_yield() ? 0 : POLLS_PER_YIELD;
    if (poller.call == CALL_OTHER)
        return may_sleep() ? 0 : POLLS_OF_OTHER_CALL;
    uint64_t polls = yield_ticks / 2 / (poller.last - poller.began + 1);
    return polls < POLLS_OF_SHORT_YIELDS ? (uint32_t)polls : POLLS_OF_SHORT_YIELDS;
}

void host_wait_before_poll(bool nests)
{
    poller.suspended += nests;
    if (poller.suspended > nests)
        return;
    uint64_t now = sync_ticks();
    /* The polls of a call that waits belong to one wait whatever the time between them, since a
     * host may take long for other work. So a wait in which the thread has stopped yielding still
     * yields at each probe; otherwise two jobs would take each other for threads that compute. */
    bool one_wait = poller.call == CALL_WAITS || (poller.call == CALL_POLLS && poller.mail);
    bool skips = replaces_host_yield() && host_wait_intervenes;
    if (poller.call != CALL_POLLS)
        let_host_yield(true);
    uint64_t longest = (uint64_t)TICKS_BETWEEN_POLLS * (skips ? poller.untimed + 1 : 1);
    if (poller.since && (one_wait || now - poller.last < longest)) {
        now = give_way(now);
    } else {
        begin_wait(now);
        if (skips)
            skip_polls(POLLS_PER_YIELD);
    }
    note_use(now);
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
    sync_waited(kind_of_poll(), poller.last - poller.began);
    if (poller.recipient != NOBODY)
        host_wait_sent();
    if (host_wait > WAIT_auto) {
        uint32_t untimed = set_host_yield && !poller.mail ? untimed_polls() : 0;
        if (untimed)
            skip_polls(untimed);
    } else if (!poller.until_probe || !--poller.until_probe) {
        probe();
    }
}
