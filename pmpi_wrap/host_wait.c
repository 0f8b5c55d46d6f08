#include "pmpi_wrap/host_wait.h"

#include "alloc/node.h"

#include <sched.h>

enum host_wait host_wait;

/* Polls without progress before a thread yields, and before it sleeps. A poll takes some 100 ns. */
enum {
    POLLS = 20,
    YIELDS = 4,
    TICKS_BETWEEN_POLLS = 10000, /* a few microseconds */
};

enum { NOBODY = -2, ANYBODY = -1 };

struct poller {
    uint64_t last;  /* sync_ticks() when the last poll without progress ended */
    uint32_t polls; /* without progress, in immediate succession */
    uint32_t mail;  /* the word then */
    uint32_t suspended;
    int recipient; /* NOBODY, ANYBODY, or a member that has not been woken yet */
};
static __thread struct poller poller = {.recipient = NOBODY};

/* Where nothing is shared. */
static struct sync_word own_mail;

static struct sync_word *mail(void)
{
    return node.header ? &node_member(node.me)->mail : &own_mail;
}

void host_wait_configure(enum host_wait how)
{
    host_wait = how;
}

void host_wait_suspend(void)
{
    poller.suspended++;
}

void host_wait_resume(void)
{
    poller.suspended--;
}

static void wake(uint32_t member)
{
    struct sync_word *word = &node_member(member)->mail;
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

uint32_t host_wait_before_poll(void)
{
    return sync_load(mail());
}

static void give_way(uint32_t seen)
{
    uint32_t polls = poller.polls++;
    if (polls < POLLS)
        return;
    if (host_wait == HOST_WAIT_YIELD || polls < POLLS + YIELDS)
        sched_yield();
    else
        sync_nap(mail(), seen, polls - POLLS - YIELDS);
}

void host_wait_polled(uint32_t seen, bool progress)
{
    if (poller.suspended)
        return;
    bool waits =
        !progress && seen == poller.mail && sync_ticks() - poller.last < TICKS_BETWEEN_POLLS;
    if (!waits)
        poller.polls = 0;
    poller.mail = seen;
    if (poller.recipient != NOBODY)
        host_wait_sent();
    else
        give_way(seen);
    poller.last = sync_ticks();
}
