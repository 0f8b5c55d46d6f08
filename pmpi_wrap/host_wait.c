#include "pmpi_wrap/host_wait.h"

#include "alloc/node.h"
#include "core/stats.h"
#include "core/thread.h"

#include <sys/resource.h>

enum {
    POLLS_PER_PROBE = 4096,  /* some 400 us */
    POLLS_PER_RECHECK = 256, /* the same while others want the processor */
    /* The time stamp counter advances by 2000 to 4000 in a microsecond. */
    TICKS_BETWEEN_POLLS = 1 << 14, /* of one wait */
    SPIN_TICKS = 1 << 12,          /* of a wait, before a thread yields */
    YIELD_TICKS = 1 << 21,         /* of a wait, before a thread sleeps */
    YIELD_TICKS_QUOTA = 1 << 14,
    /* A yield that has taken this long has gone to a thread that computes. The OS gives a processor
     * sooner to a thread that wakes up than to one that has yielded. So some of the next waits
     * sleep at once: twice as many as the last time, since others may compute for long. */
    YIELD_TICKS_LONG = 1 << 20,
    WAITS_WITHOUT_YIELD_MAX = 256,
};

enum wait_setting host_wait;
uint32_t host_wait_polls_left = UINT32_MAX;
static uint64_t yield_ticks;
static bool host_yields;

enum { NOBODY = -2, ANYBODY = -1 };

struct poller {
    uint64_t began; /* sync_ticks() before this poll */
    uint64_t last;  /* after the last one, with the yield or sleep that followed */
    uint64_t since; /* when this wait began; 0: with the next poll */
    bool gives_way; /* has yielded or slept in this wait */
    bool sleepy;    /* is counted in `sleepers`, and will sleep if the next poll finds nothing */
    uint32_t mail;  /* the word before this poll, if so */
    uint32_t naps;  /* in this wait */
    uint32_t waits_without_yield, after_next_long_yield;
    uint32_t suspended;
    int recipient;    /* NOBODY, ANYBODY, or a member that has not been woken yet */
    long preemptions; /* ru_nivcsw at the last probe */
    bool is_preempted;
    uint32_t until_probe; /* polls, if it is */
};
static __thread struct poller poller = {.recipient = NOBODY};

/* Where nothing is shared. */
static struct sync_word own_mail;

static struct sync_word *mail(void)
{
    return node.header ? &node_member(node.me)->mail : &own_mail;
}

void host_wait_configure(enum wait_setting how, bool quota, bool yields)
{
    host_wait = how;
    host_yields = yields;
    yield_ticks = quota ? YIELD_TICKS_QUOTA : YIELD_TICKS;
    host_wait_polls_left = how == WAIT_spin || (how == WAIT_yield && yields) ? UINT32_MAX
                           : how == WAIT_auto                                ? POLLS_PER_PROBE
                                                                             : 0;
}

void host_wait_suspend(void)
{
    poller.suspended++;
}

void host_wait_resume(void)
{
    poller.suspended--;
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

void host_wait_begins(void)
{
    poller.since = 0;
}

static void become_sleepy(bool sleepy)
{
    if (sleepy == poller.sleepy)
        return;
    poller.sleepy = sleepy;
    /* A full fence: before the poll that follows. */
    atomic_fetch_add_explicit(&mail()->sleepers, sleepy ? 1 : UINT32_MAX, memory_order_seq_cst);
}

void host_wait_before_poll(bool polls_inside)
{
    poller.suspended += polls_inside;
    poller.began = sync_ticks();
    if (poller.sleepy)
        poller.mail = sync_load(mail());
}

static void begin_wait(uint64_t now)
{
    poller.since = now;
    poller.gives_way = false;
    poller.naps = 0;
    become_sleepy(false);
}

/* Only polls of one wait follow each other that fast. */
static bool goes_on(void)
{
    return poller.since && poller.began - poller.last < TICKS_BETWEEN_POLLS;
}

static void note_yield(uint64_t duration)
{
    if (duration < YIELD_TICKS_LONG) {
        poller.after_next_long_yield = 0;
        return;
    }
    uint32_t waits = 2 * poller.after_next_long_yield + 8;
    poller.after_next_long_yield =
        waits < WAITS_WITHOUT_YIELD_MAX ? waits : WAITS_WITHOUT_YIELD_MAX;
    poller.waits_without_yield = poller.after_next_long_yield;
}

/* Returns whether this thread has yielded or slept. */
static bool give_way(uint64_t now)
{
    bool may_sleep = host_wait == WAIT_sleep && (!thread_concurrent || config.wait == WAIT_sleep);
    if (now - poller.since < SPIN_TICKS)
        return false;
    if (!poller.gives_way && poller.waits_without_yield) {
        poller.waits_without_yield--;
        poller.since = now - yield_ticks;
    }
    poller.gives_way = true;
    if (poller.sleepy)
        sync_nap(mail(), poller.mail, thread_concurrent ? 0 : poller.naps++);
    else if (may_sleep && now - poller.since >= yield_ticks)
        become_sleepy(true);
    else if (!host_yields)
        note_yield(sync_yield_processor());
    else
        return false;
    return true;
}

/* Whether another thread has had this processor since this function was last called, although this
 * one did not sleep. The yield lets one have it that wants it now. */
static bool has_been_preempted(void)
{
    struct rusage use;
    sync_yield_processor();
    if (getrusage(RUSAGE_THREAD, &use))
        return false;
    bool more = use.ru_nivcsw != poller.preemptions;
    poller.preemptions = use.ru_nivcsw;
    return more;
}

/* Returns whether the thread goes on as the host does without this library. The polls since the
 * last probe have taken as long as this one, more or less. */
static COLD bool probe(uint64_t now)
{
    if (host_wait == WAIT_spin) {
        host_wait_polls_left = UINT32_MAX;
        return true;
    }
    if (!poller.is_preempted)
        sync_waited(WAITED_POLLING, POLLS_PER_PROBE * (now - poller.began));
    poller.is_preempted = has_been_preempted();
    if (poller.is_preempted)
        poller.until_probe = POLLS_PER_RECHECK;
    else
        host_wait_polls_left = POLLS_PER_PROBE;
    return !poller.is_preempted;
}

void host_wait_polled(bool found, bool polls_inside)
{
    poller.suspended -= polls_inside;
    if (poller.suspended)
        return;
    uint64_t now = sync_ticks();
    if (found || !goes_on())
        begin_wait(now);
    else
        sync_waited(host_yields ? WAITED_YIELDING : WAITED_POLLING, now - poller.last);
    if (host_yields)
        note_yield(now - poller.began);
    if (host_wait <= WAIT_auto && !(poller.until_probe && --poller.until_probe) && probe(now))
        return;
    bool gave_way = false;
    if (poller.recipient != NOBODY)
        host_wait_sent();
    else
        gave_way = give_way(now);
    poller.last = gave_way ? sync_ticks() : now;
}
