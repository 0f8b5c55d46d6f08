#include "pmpi_wrap/host_wait.h"

#include "alloc/node.h"
#include "core/stats.h"
#include "core/thread.h"

#include <sys/resource.h>

enum {
    POLLS_PER_PROBE = 4096,  /* some 400 us */
    POLLS_PER_RECHECK = 256, /* the same while others want the processor */
    /* The time stamp counter advances by 2000 to 4000 in a microsecond. */
    TICKS_BETWEEN_POLLS = 1 << 14, /* of one wait; longer than a poll */
    SPIN_TICKS = 1 << 12,          /* of a wait, before a thread yields */
    YIELD_TICKS = 1 << 18,         /* of a wait, before a thread sleeps */
    YIELD_TICKS_QUOTA = 1 << 14,
    /* A yield that has taken this long has gone to a thread that computes. The OS gives a processor
     * sooner to a thread that wakes up than to one that has yielded. So this many waits sleep at
     * once. */
    YIELD_TICKS_LONG = 1 << 20,
    WAITS_WITHOUT_YIELD = 256,
};

enum wait_setting host_wait;
uint32_t host_wait_polls_left = UINT32_MAX;
static uint64_t yield_ticks;

enum { NOBODY = -2, ANYBODY = -1 };

struct poller {
    uint64_t began; /* sync_ticks() before this poll */
    uint64_t last;  /* after the last one, with the yield or sleep that followed */
    uint64_t since; /* when this wait began */
    uint32_t mail;  /* the word at the last poll */
    uint32_t naps;  /* in this wait */
    bool gives_way; /* has yielded or slept in this wait */
    uint32_t waits_without_yield;
    uint32_t suspended;
    int recipient; /* NOBODY, ANYBODY, or a member that has not been woken yet */
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

void host_wait_configure(enum wait_setting how, bool quota)
{
    host_wait = how;
    yield_ticks = quota ? YIELD_TICKS_QUOTA : YIELD_TICKS;
    host_wait_polls_left = how == WAIT_spin   ? UINT32_MAX
                           : how == WAIT_auto ? POLLS_PER_PROBE
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

static void wake(uint32_t member)
{
    struct sync_word *word = &node_member(member)->mail;
    /* Sequentially consistent: see sync_wake(). It also follows the host's stores of the message. */
    atomic_fetch_add_explicit(&word->value, 1, memory_order_seq_cst);
    sync_wake(word);
}

void host_wait_sending(int member)
{
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
    if (recipient != ANYBODY)
        wake((uint32_t)recipient);
    else
        for (uint32_t i = 0; i < node.size; i++)
            if (i != node.me)
                wake(i);
}

/* ---- the receiver ---- */

uint32_t host_wait_before_poll(void)
{
    poller.began = sync_ticks();
    return sync_load(mail());
}

static void give_way(uint32_t seen, uint64_t now)
{
    bool may_sleep = host_wait == WAIT_sleep && (!thread_concurrent || config.wait == WAIT_sleep);
    if (now - poller.since < SPIN_TICKS)
        return;
    if (!poller.gives_way && poller.waits_without_yield) {
        poller.waits_without_yield--;
        poller.since = now - yield_ticks;
    }
    poller.gives_way = true;
    if (may_sleep && now - poller.since >= yield_ticks)
        sync_nap(mail(), seen, thread_concurrent ? 0 : poller.naps++);
    else if (sync_yield_processor() > YIELD_TICKS_LONG)
        poller.waits_without_yield = WAITS_WITHOUT_YIELD;
}

/* Only polls of one wait follow each other that fast, and without mail in between. */
static void count_poll(uint32_t seen, bool found, uint64_t now)
{
    bool goes_on =
        !found && seen == poller.mail && poller.began - poller.last < TICKS_BETWEEN_POLLS;
    if (goes_on) {
        sync_waited(WAITED_POLLING, now - poller.last);
    } else {
        poller.since = now;
        poller.gives_way = false;
        poller.naps = 0;
    }
    poller.mail = seen;
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

/* Returns whether the thread goes on as a host without this library would. The polls since the last
 * probe have taken as long as this one, more or less. */
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

void host_wait_polled(uint32_t seen, bool found)
{
    if (poller.suspended)
        return;
    uint64_t now = sync_ticks();
    count_poll(seen, found, now);
    if (host_wait <= WAIT_auto && !(poller.until_probe && --poller.until_probe) && probe(now))
        return;
    if (poller.recipient != NOBODY)
        host_wait_sent();
    else
        give_way(seen, now);
    poller.last = sync_ticks();
}
