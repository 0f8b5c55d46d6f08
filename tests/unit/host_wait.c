/* Waiting inside the host: no announced message is missed. */
#include "tests/unit/endless.h"

#include "node/node.h"

#include <sys/resource.h>

/* The source of the module, where each thread is a member. */
static __thread struct node own;
#define node own

static uint64_t last_yield_took;
static unsigned yield_count;
enum { SHORT_YIELD = 1000 };   /* ticks */
static uint64_t planned_yield; /* what a yield returns; 0: its real duration */

static uint64_t observed_yield(void)
{
    if (planned_yield) {
        yield_count++;
        return planned_yield;
    }
    uint64_t start = sync_ticks();
    yield_count++;
    sync_yield_processor();
    last_yield_took = sync_ticks() - start;
    return last_yield_took;
}

/* ru_nivcsw as the module reads it. */
static long preemptions;

static int planned_rusage(int who, struct rusage *use)
{
    int result = getrusage(who, use);
    use->ru_nivcsw = preemptions;
    return result;
}

static uint64_t planned_now; /* sync_ticks() as the module reads it; 0: the real one */

static uint64_t planned_ticks(void)
{
    return planned_now ? planned_now : sync_ticks();
}

#define sync_ticks           planned_ticks
#define sync_yield_processor observed_yield
#define getrusage            planned_rusage
#include "pmpi_wrap/host_wait.c"
#undef getrusage
#undef sync_yield_processor
#undef sync_ticks
#undef node

static unsigned rounds;
static _Atomic uint32_t queue[UNIT_RANKS_MAX]; /* of the host: how many messages a rank has got */

static void begin(enum wait_setting how, unsigned size)
{
    size_t bytes = layout_header_size(size);
    config.wait = how;
    thread_concurrent = size > 1;
    host_wait_configure(how, false, true, NULL);
    poller.until_probe = poller.long_yield_score = 0; /* left by the previous test */
    poller.doublings = poller.probes_to_skip = 0;
    poller.calls_with_host_yield = 0;
    node.header = aligned_alloc(LAYOUT_PAGE, bytes);
    memset(node.header, 0, bytes);
    node.size = size;
    futex_waits = 0;
    for (unsigned i = 0; i < size; i++)
        queue[i] = 0;
}

static void end(void)
{
    begin_wait(0); /* leaves the word */
    free(node.header);
    node.header = NULL;
}

static void become(unsigned me)
{
    own = node;
    own.me = me;
}

static void poll(bool found)
{
    if (poller.call == CALL_POLLS && host_wait_ignores_poll())
        return;
    host_wait_before_poll(false);
    host_wait_polled(found, false);
}

/* As a host waits. With `sleep_at_once` every wait looks as if it had lasted long. */
static void receive(uint32_t goal, bool sleep_at_once, struct chance *chance)
{
    for (;;) {
        if (sleep_at_once) {
            poller.since = 1;
            poller.last = sync_ticks();
        }
        host_wait_before_poll(false);
        if (sync_reached(atomic_load_explicit(&queue[own.me], memory_order_acquire), goal))
            return;
        if (poller.mail && sleep_at_once)
            spin_ns(below(chance, 2000)); /* the message comes between the poll and the sleep */
        host_wait_polled(false, false);
    }
}

static void send(unsigned to)
{
    host_wait_sending((int)to);
    /* Hosts store without a fence. Each queue has one sender. */
    atomic_store_explicit(&queue[to], atomic_load(&queue[to]) + 1, memory_order_release);
    host_wait_sent();
}

static void pass_on(unsigned me)
{
    struct chance chance = {me};
    become(me);
    for (uint32_t round = 0; round < rounds; round++) {
        if (me || round)
            receive(me ? round + 1 : round, true, &chance);
        if (!below(&chance, 4))
            spin_ns(below(&chance, 20000));
        send((me + 1) % unit_ranks.size);
    }
}

/* Sleeps have no limit here, so the case hangs if a wake-up is lost. */
START_TEST(no_announced_message_is_missed)
{
    endless = true;
    for (unsigned size = 2; size <= 4; size++) {
        rounds = effort(2000);
        begin(WAIT_sleep, size);
        as_ranks(size, pass_on);
        ck_assert_uint_gt(futex_waits, 0);
        end();
    }
    endless = false;
}
END_TEST

static void await_sleep(unsigned me)
{
    become(me);
    if (me)
        receive(1, false, NULL);
    else {
        await_sleeper(&node_member(1)->mail);
        /* The library cannot determine the receiver of the message before the next poll. */
        host_wait_sending(-1);
        atomic_store(&queue[1], 1);
        poll(false);
    }
}

START_TEST(a_poll_announces_what_was_sent_before)
{
    endless = true;
    begin(WAIT_sleep, 2);
    as_ranks(2, await_sleep);
    end();
    endless = false;
}
END_TEST

static bool slept_again;

static void go_on_when_woken(unsigned me)
{
    become(me);
    struct sync_word *word = &node_member(1)->mail;
    if (!me) {
        do {
            await_sleeper(word);
            host_wait_sent_to(1); /* too late if the thread has been preempted and is awake */
        } while (!sync_load(word));
        return;
    }
    while (!sync_load(word))
        poll(false);
    unsigned before = futex_waits;
    poll(false);
    slept_again = futex_waits != before || word->sleepers;
}

/* Some hosts do not tell whether a poll has found something. On a busy machine the thread may not
 * run for so long between two polls that it does sleep. */
START_TEST(a_thread_that_was_woken_does_not_sleep_again_at_once)
{
    slept_again = true;
    for (unsigned i = 0; i < 100 && slept_again; i++) {
        begin(WAIT_sleep, 2);
        as_ranks(2, go_on_when_woken);
        end();
    }
    ck_assert(!slept_again);
}
END_TEST

/* The ranks meet while the host waits in MPI_Init. */
START_TEST(a_wait_may_begin_before_anything_is_shared)
{
    begin(WAIT_sleep, 1);
    become(0);
    own.header = NULL;
    while (!own_mail.sleepers)
        poll(false);
    own.header = node.header;
    host_wait_enter(CALL_WAITS);
    poll(false);
    host_wait_leave(true);
    ck_assert_uint_eq(own_mail.sleepers, 0);
    ck_assert_uint_eq(node_member(0)->mail.sleepers, 0);
    end();
}
END_TEST

static void receive_late(unsigned me)
{
    become(me);
    if (me) {
        host_wait_enter(CALL_WAITS);
        receive(1, false, NULL);
        host_wait_leave(true);
    } else {
        sleep_us(20000);
        atomic_store(&queue[1], 1);
    }
}

START_TEST(messages_without_announcement_are_found)
{
    for (enum wait_setting how = WAIT_spin; how <= WAIT_sleep; how++) {
        begin(how, 2);
        as_ranks(2, receive_late);
        ck_assert((futex_waits > 0) == (how == WAIT_sleep));
        end();
    }
}
END_TEST

/* Whether more time has passed than even a busy machine needs. */
static bool too_long(uint64_t since_ns)
{
    return sync_now_ns() - since_ns > UINT64_C(20000000000);
}

START_TEST(the_sleeps_of_a_wait_become_longer)
{
    begin(WAIT_sleep, 1);
    become(0);
    uint64_t before = sync_now_ns();
    while (futex_waits < 100 && !too_long(before)) {
        poller.last = sync_ticks(); /* even if the thread was preempted */
        poll(false);
    }
    ck_assert_uint_eq(futex_waits, 100);
    ck_assert_uint_gt(sync_now_ns() - before, UINT64_C(20000000));
    end();
}
END_TEST

START_TEST(a_thread_with_nobody_to_yield_to_polls_until_it_sleeps)
{
    begin(WAIT_sleep, 1);
    become(0);
    host_wait_configure(WAIT_sleep, true, false, NULL);
    yield_count = 0;
    uint64_t before = sync_now_ns();
    while (!futex_waits && !too_long(before))
        poll(false);
    ck_assert_uint_gt(futex_waits, 0);
    ck_assert_uint_eq(yield_count, 0);
    end();
}
END_TEST

static unsigned sleeps_in(enum call_kind kind)
{
    uint64_t before = sync_now_ns();
    futex_waits = 0;
    if (kind != CALL_OTHER)
        host_wait_enter(kind);
    while (sync_now_ns() - before < UINT64_C(20000000))
        poll(false);
    host_wait_leave(false);
    return futex_waits;
}

/* The time of yields, which are long on a busy machine, does not count as waiting. */
static bool sleeps_at_last_in(enum call_kind kind)
{
    uint64_t before = sync_now_ns();
    while (!sleeps_in(kind) && !too_long(before)) {
    }
    return futex_waits;
}

/* With MPIACCEL_WAIT=sleep a thread sleeps everywhere. */
START_TEST(a_thread_sleeps_only_where_a_message_wakes_it)
{
    begin(WAIT_sleep, 1);
    become(0);
    ck_assert(sleeps_at_last_in(CALL_OTHER));
    config.wait = WAIT_auto;
    ck_assert(sleeps_at_last_in(CALL_WAITS));
    ck_assert_uint_eq(sleeps_in(CALL_OTHER), 0);
    ck_assert_uint_eq(sleeps_in(CALL_POLLS), 0);
    host_wait_stay_awake();
    ck_assert_uint_eq(sleeps_in(CALL_WAITS), 0);
    config.wait = WAIT_sleep;
    ck_assert(sleeps_at_last_in(CALL_WAITS));
    host_acts_alone = false;
    end();
}
END_TEST

static void answer_late(unsigned me)
{
    become(me);
    if (me) {
        receive(1, false, NULL);
        return;
    }
    await_sleeper(&node_member(1)->mail);
    while (sync_ticks() - poller.used < yield_ticks)
        sleep_us(100);
    host_wait_enter(CALL_WAITS);
    atomic_store(&queue[1], 1); /* the host answers at once, without a poll */
    host_wait_leave(true);
}

START_TEST(a_thread_that_was_away_announces_what_its_host_may_answer)
{
    endless = true;
    begin(WAIT_sleep, 2);
    as_ranks(2, answer_late);
    end();
    endless = false;
}
END_TEST

/* The check does not hold if the thread is suspended for long between two calls. */
START_TEST(calls_in_quick_succession_wake_nobody)
{
    unsigned calls = 0;
    begin(WAIT_sleep, 2);
    become(0);
    node.header->asleep = node_member(1)->mail.sleepers = 1;
    futex_wakes = 0;
    for (uint64_t until = sync_ticks() + 20 * HOST_YIELD_TICKS;
         calls < 10000 || sync_ticks() < until; calls++) {
        host_wait_enter(CALL_WAITS);
        host_wait_leave(true);
    }
    ck_assert_uint_lt(futex_wakes, calls / 100);
    end();
}
END_TEST

static unsigned sleeps_with_slow_polls(unsigned polls)
{
    uint64_t before = sync_now_ns();
    futex_waits = 0;
    while (polls-- && futex_waits <= 10 && !too_long(before)) {
        poll(false);
        spin_ns(20000);
    }
    return futex_waits;
}

START_TEST(slow_polls_belong_to_a_wait_if_a_call_waits)
{
    begin(WAIT_sleep, 1);
    become(0);
    ck_assert_uint_eq(sleeps_with_slow_polls(5000), 0);
    host_wait_enter(CALL_WAITS);
    ck_assert_uint_gt(sleeps_with_slow_polls(UINT_MAX), 10);
    host_wait_leave(true);
    ck_assert_uint_eq(sleeps_with_slow_polls(5000), 0);
    end();
}
END_TEST

/* A wait of a program that polls for `us` microseconds. Each poll finds a message, or none does.
 * Returns how long it took, in ticks. */
static uint64_t poll_by_calls(unsigned us, bool finds)
{
    uint64_t began = sync_ticks(), before = sync_now_ns();
    futex_waits = 0;
    while (sync_now_ns() - before < us * UINT64_C(1000)) {
        host_wait_enter(CALL_POLLS);
        poll(false);
        host_wait_leave(finds);
    }
    return sync_ticks() - began;
}

START_TEST(a_program_that_only_polls_sleeps_at_last)
{
    begin(WAIT_sleep, 1);
    become(0);
    for (unsigned ms = 100; ms < 10000 && !futex_waits; ms *= 4)
        poll_by_calls(1000 * ms, false); /* the time of yields does not count */
    ck_assert_uint_gt(futex_waits, 0);
    end();
}
END_TEST

/* A program that sends something every 300 us, and polls in between. Returns whether it sleeps. */
static bool sleeps_between_sends(unsigned sends)
{
    futex_waits = 0;
    for (unsigned i = 0; i < sends; i++) {
        host_wait_sent_to(0);
        uint64_t own_ticks = 0;
        while (own_ticks < HOST_YIELD_TICKS / 4) {
            uint64_t start = sync_ticks();
            unsigned before = yield_count;
            host_wait_enter(CALL_POLLS);
            poll(false);
            host_wait_leave(false);
            own_ticks += sync_ticks() - start - (yield_count - before) * last_yield_took;
        }
    }
    return futex_waits;
}

/* On a busy machine the thread may be preempted for long between two polls. */
START_TEST(a_program_with_work_to_do_does_not_sleep_because_yields_take_long)
{
    bool sleeps = true;
    begin(WAIT_sleep, 1);
    become(0);
    yield_takes_ns = 2000000;
    for (unsigned i = 0; i < 100 && sleeps; i++)
        sleeps = sleeps_between_sends(3);
    yield_takes_ns = 0;
    ck_assert(!sleeps);
    end();
}
END_TEST

/* Returns the number of polls until the thread has yielded. */
static unsigned polls_until_yield(void)
{
    unsigned before = yield_count, polls = 0;
    for (; yield_count == before; polls++) {
        poller.last = poller.since = sync_ticks(); /* even if the thread was preempted */
        host_wait_enter(CALL_POLLS);
        poll(false);
        host_wait_leave(false);
    }
    return polls;
}

/* With a pause as long as the yield, threads that share a processor would keep each other waiting.
 */
START_TEST(a_program_that_polls_pauses_after_a_yield_that_took_long)
{
    begin(WAIT_sleep, 1);
    become(0);
    planned_yield = SHORT_YIELD;
    polls_until_yield();
    ck_assert_uint_le(polls_until_yield(), 2 * POLLS_PER_YIELD);
    planned_yield = 100 * YIELD_TICKS_PER_POLL;
    polls_until_yield();
    ck_assert_uint_ge(polls_until_yield(), 100);
    ck_assert_uint_le(polls_until_yield(), 100 + 2 * POLLS_PER_YIELD);
    planned_yield = 1000000 * (uint64_t)YIELD_TICKS_PER_POLL;
    polls_until_yield();
    ck_assert_uint_ge(polls_until_yield(), POLLS_PER_LONG_YIELD_MAX);
    ck_assert_uint_le(polls_until_yield(), POLLS_PER_LONG_YIELD_MAX + 2 * POLLS_PER_YIELD);
    host_wait_enter(CALL_POLLS);
    host_wait_leave(true);
    host_wait_enter(CALL_POLLS);
    ck_assert_uint_le(host_wait_polls_left, POLLS_PER_YIELD);
    host_wait_leave(false);
    planned_yield = 0;
    end();
}
END_TEST

/* Returns how many of 1000 polls are timed. */
static unsigned timed_polls(void)
{
    unsigned timed = 0;
    for (unsigned i = 0; i < 1000; i++) {
        poller.last = poller.since = sync_ticks();
        host_wait_enter(CALL_POLLS);
        if (!host_wait_ignores_poll()) {
            timed++;
            host_wait_before_poll(false);
            host_wait_polled(false, false);
        }
        host_wait_leave(false);
    }
    return timed;
}

START_TEST(few_polls_are_timed_if_no_yield_is_due)
{
    begin(WAIT_sleep, 1);
    become(0);
    planned_yield = SHORT_YIELD;
    timed_polls();
    unsigned timed = timed_polls();
    ck_assert_uint_ge(timed, 1000 / (POLLS_PER_YIELD + 6));
    ck_assert_uint_le(timed, 1000 / POLLS_PER_YIELD);
    planned_yield = 0;
    end();
}
END_TEST

/* Calls of a program that polls, with a host that is slow after a sleep. Returns the number of
 * sleeps in the last wait. */
static unsigned naps_of_slow_calls(unsigned program_ns)
{
    uint64_t before = sync_now_ns();
    while (sync_now_ns() - before < UINT64_C(50000000)) {
        host_wait_enter(CALL_POLLS);
        if (poller.mail)
            spin_ns(20000);
        poll(false);
        if (poller.mail)
            spin_ns(20000);
        host_wait_leave(false);
        if (program_ns)
            spin_ns(program_ns);
    }
    return poller.naps;
}

START_TEST(a_program_that_polls_goes_on_sleeping_until_it_has_work)
{
    unsigned naps = 0;
    begin(WAIT_sleep, 1);
    become(0);
    for (unsigned i = 0; i < 100 && naps < 10; i++)
        naps = naps_of_slow_calls(0);
    ck_assert_uint_ge(naps, 10);
    for (unsigned i = 0; i < 100 && naps; i++)
        naps = naps_of_slow_calls(20000);
    ck_assert_uint_eq(naps, 0);
    end();
}
END_TEST

START_TEST(a_program_that_polls_is_awake_when_it_has_found_a_message)
{
    begin(WAIT_sleep, 1);
    become(0);
    for (unsigned i = 0; i < 100 && !poller.mail; i++)
        naps_of_slow_calls(0);
    ck_assert(poller.mail);
    futex_waits = 0;
    host_wait_enter(CALL_POLLS);
    host_wait_leave(true);
    poller.last = sync_ticks();
    poll(false);
    ck_assert_uint_eq(futex_waits, 0);
    end();
}
END_TEST

static bool yields_now;
static unsigned yield_switches;

static bool set_yield(bool yields)
{
    bool before = yields_now;
    yields_now = yields;
    yield_switches++;
    return before;
}

/* Make `calls` calls that poll in vain. Returns in how many the host's own yield was on. */
static unsigned calls_with_yields(unsigned calls)
{
    unsigned yielding = 0;
    for (unsigned i = 0; i < calls; i++) {
        host_wait_enter(CALL_POLLS);
        yielding += yields_now;
        poll(false);
        host_wait_leave(false);
    }
    return yielding;
}

START_TEST(the_host_yields_except_while_the_program_polls)
{
    begin(WAIT_sleep, 1);
    become(0);
    host_wait_configure(WAIT_sleep, false, true, set_yield);
    yields_now = true;
    host_wait_enter(CALL_POLLS);
    ck_assert(!yields_now);
    host_wait_leave(false);
    yield_switches = 0;
    ck_assert_uint_eq(calls_with_yields(100), 0);
    ck_assert_uint_eq(yield_switches, 0);
    host_wait_enter(CALL_POLLS);
    host_wait_enter(CALL_WAITS); /* in a callback */
    poll(false);
    ck_assert(yields_now);
    host_wait_leave(true);
    host_wait_leave(false);
    ck_assert_uint_eq(calls_with_yields(100), 0);
    poll(false); /* in another call */
    ck_assert(yields_now);
    host_wait_configure(WAIT_sleep, false, true, NULL);
    end();
}
END_TEST

/* What a program polls for after it has sent or received often comes from a rank that needs the
 * processor. */
START_TEST(the_host_yields_in_the_first_polls_for_an_answer)
{
    begin(WAIT_sleep, 1);
    become(0);
    host_wait_configure(WAIT_sleep, false, true, set_yield);
    config.wait = WAIT_auto;
    yields_now = true;
    host_wait_enter(CALL_WAITS);
    host_wait_leave(true);
    unsigned before = yield_count;
    ck_assert_uint_eq(calls_with_yields(CALLS_WITH_HOST_YIELD), CALLS_WITH_HOST_YIELD);
    ck_assert_uint_eq(yield_count, before);
    ck_assert_uint_eq(calls_with_yields(100), 0);
    host_wait_enter(CALL_POLLS);
    poll(true);
    host_wait_leave(true);
    ck_assert_uint_eq(calls_with_yields(100), CALLS_WITH_HOST_YIELD);
    config.wait = WAIT_sleep; /* the thread sleeps in the end, so the host does not yield */
    host_wait_enter(CALL_WAITS);
    host_wait_leave(true);
    ck_assert_uint_eq(calls_with_yields(100), 0);
    host_wait_configure(WAIT_sleep, false, true, NULL);
    end();
}
END_TEST

/* Returns how many of 100 polls in a call that waits are timed, if each takes so long. */
static unsigned timed_in_wait(uint64_t ticks)
{
    unsigned timed = 0;
    host_wait_enter(CALL_WAITS);
    for (unsigned i = 0; i < 100; i++, planned_now += ticks) {
        if (host_wait_ignores_poll())
            continue;
        timed++;
        host_wait_before_poll(false);
        planned_now += ticks; /* of a yield of the host */
        host_wait_polled(false, false);
        planned_now -= ticks;
    }
    host_wait_leave(true);
    return timed;
}

START_TEST(few_polls_of_a_wait_are_timed_unless_yields_are_long)
{
    begin(WAIT_yield, 1);
    become(0);
    host_wait_configure(WAIT_yield, false, true, set_yield);
    host_wait_polls_left = 0; /* as when a thread sleeps on the node */
    planned_now = sync_ticks();
    ck_assert_uint_le(timed_in_wait(YIELD_TICKS_SHARED), 100 / POLLS_OF_SHORT_YIELDS + 1);
    ck_assert_uint_ge(timed_in_wait(YIELD_TICKS_LONG), 100 - POLLS_AT_FIRST - 1);
    planned_now = 0;
    host_wait_configure(WAIT_sleep, false, true, NULL);
    end();
}
END_TEST

START_TEST(progress_ends_a_wait)
{
    begin(WAIT_sleep, 1);
    become(0);
    uint64_t before = sync_now_ns();
    while (sync_now_ns() - before < UINT64_C(20000000))
        poll(true);
    ck_assert_uint_eq(futex_waits, 0);
    end();
}
END_TEST

START_TEST(a_suspended_thread_does_not_wait)
{
    begin(WAIT_sleep, 1);
    become(0);
    host_wait_suspend();
    uint64_t before = sync_now_ns();
    while (sync_now_ns() - before < UINT64_C(20000000))
        poll(false);
    host_wait_resume();
    ck_assert_uint_eq(futex_waits, 0);
    end();
}
END_TEST

/* Polls of a rank that has its processor to itself. */
START_TEST(polls_are_looked_at_rarely)
{
    uint32_t looks = 0;
    begin(WAIT_auto, 1);
    become(0);
    for (unsigned i = 0; i < 100 * POLLS_PER_PROBE; i++)
        if (!host_wait_ignores_poll()) {
            looks++;
            poll(false);
        }
    ck_assert_uint_ge(looks, 99);
    end();
    begin(WAIT_spin, 1);
    for (unsigned i = 0; i < 100 * POLLS_PER_PROBE; i++)
        ck_assert(host_wait_ignores_poll());
    end();
}
END_TEST

/* Poll until the next probe, before which the thread is preempted if `preempted`, or seems to have
 * lost time if `lost`. Returns the number of polls. As in a host, these take longer than
 * TICKS_BETWEEN_POLLS, or else the probe would belong to the wait before. */
static uint32_t polls_until_probe(bool preempted, bool lost)
{
    uint32_t polls = 1;
    while (host_wait_ignores_poll())
        polls++;
    while (sync_ticks() - poller.last <= TICKS_BETWEEN_POLLS) {
    }
    preemptions += preempted;
    poller.without_ns += lost ? -2 * LOST_NS_MIN : 1000000000;
    poll(false);
    return polls;
}

static void begin_auto(void)
{
    begin(WAIT_auto, 1);
    become(0);
    planned_yield = SHORT_YIELD;
    polls_until_probe(false, false);
    ck_assert(!host_wait_intervenes);
}

static enum call_kind waiting_call;

static void begin_to_yield(void)
{
    polls_until_probe(true, true);
    ck_assert(host_wait_intervenes);
    host_wait_enter(waiting_call);
}

START_TEST(a_thread_yields_while_it_shares_its_processor)
{
    waiting_call = CALL_WAITS;
    begin_auto();
    for (int round = 0; round < 3; round++) {
        polls_until_probe(true, false);
        ck_assert(!host_wait_intervenes);
        polls_until_probe(false, true); /* it has slept */
        ck_assert(!host_wait_intervenes);
        begin_to_yield();
        for (int i = 0; i < 10 * POLLS_PER_PROBE_SHARED; i++) {
            preemptions += i % 100 == 0;
            /* A thread that computes has the processor now and then. */
            planned_yield = i % 200 == 199 ? YIELD_TICKS_LONG : SHORT_YIELD;
            ck_assert(!host_wait_ignores_poll());
            poll(false);
            ck_assert(host_wait_intervenes);
        }
        planned_yield = SHORT_YIELD;
        for (int i = 0; i < 2 * POLLS_PER_PROBE_SHARED && host_wait_intervenes; i++)
            poll(false);
        ck_assert(!host_wait_intervenes);
        host_wait_leave(false);
    }
    planned_yield = 0;
    end();
}
END_TEST

/* Returns the number of yields, each of which takes `ticks`, until the thread stops yielding. */
static unsigned yields_until_it_polls(uint64_t ticks)
{
    unsigned before = yield_count;
    begin_to_yield();
    planned_yield = ticks;
    for (int i = 0; i < 10 * POLLS_PER_PROBE_SHARED && host_wait_intervenes; i++) {
        preemptions++;
        spin_ns(1000);
        poll(false);
    }
    planned_yield = SHORT_YIELD;
    return yield_count - before;
}

static void stop_yielding(enum call_kind kind)
{
    waiting_call = kind;
    begin_auto();
    for (unsigned stops = 1; stops <= DOUBLINGS_MAX + 1; stops++) {
        ck_assert_uint_eq(yields_until_it_polls(YIELD_TICKS_LONG),
                          LONG_YIELD_SCORE_MAX / SHORT_PER_LONG);
        unsigned doublings = stops < DOUBLINGS_MAX ? stops : DOUBLINGS_MAX, before = yield_count;
        polls_until_probe(true, true);
        ck_assert_uint_eq(yield_count - before, kind == CALL_WAITS); /* the same wait */
        host_wait_leave(false);
        for (unsigned probes = (1u << doublings) - 2; probes; probes--) {
            ck_assert_uint_eq(polls_until_probe(true, true), POLLS_PER_PROBE + 1);
            ck_assert(!host_wait_intervenes);
        }
    }
    yields_until_it_polls(SHORT_YIELD);
    ck_assert(host_wait_intervenes);
    host_wait_leave(false);
    planned_yield = 0;
    end();
}

START_TEST(a_thread_stops_yielding_to_one_that_computes)
{
    stop_yielding(CALL_WAITS);
    stop_yielding(CALL_POLLS);
}
END_TEST

/* Ticks. LONG exceeds the time of POLLS_PER_PROBE polls. */
enum { LONG = 1 << 26, INTERRUPTED = 1 << 24 };

/* Poll until the next probe, which begins `ticks` later and takes `took`. Returns the time that it
 * adds for the polls that were not timed. */
static uint64_t estimate(uint64_t ticks, uint64_t took)
{
    uint64_t before = sync_waited_ticks();
    while (host_wait_ignores_poll()) {
    }
    planned_now += ticks;
    host_wait_before_poll(false);
    planned_now += took;
    host_wait_polled(false, false);
    return sync_waited_ticks() - before - took;
}

static void begin_to_estimate(void)
{
    begin_auto();
    planned_now = LONG;
    estimate(LONG, 100);
}

static void end_estimates(void)
{
    planned_now = planned_yield = 0;
    end();
}

START_TEST(polls_take_as_long_as_the_shorter_of_two_that_are_timed)
{
    begin_to_estimate();
    ck_assert_uint_eq(estimate(LONG, 300), POLLS_PER_PROBE * 100);
    ck_assert_uint_eq(estimate(LONG, 200), POLLS_PER_PROBE * 200);
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), POLLS_PER_PROBE * 200);
    ck_assert_uint_eq(estimate(LONG, 300), POLLS_PER_PROBE * 300);
    end_estimates();
}
END_TEST

START_TEST(the_estimate_is_at_most_the_time_that_nothing_else_has_counted)
{
    begin_to_estimate();
    estimate(LONG, INTERRUPTED);
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), LONG);
    sync_waited(WAITED_SLEEPING, LONG / 4); /* in a wait of the library, or in another thread */
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), LONG - LONG / 4);
    sync_waited(WAITED_POLLING, 2 * LONG); /* in several other threads */
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), 0);
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), LONG);
    host_wait_configure(WAIT_auto, false, true, NULL); /* the number of untimed polls is unknown */
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), 0);
    end_estimates();
}
END_TEST

START_TEST(nothing_is_estimated_while_all_polls_are_timed)
{
    begin_to_estimate();
    preemptions++;
    poller.without_ns -= 2 * LOST_NS_MIN;
    estimate(LONG, INTERRUPTED);
    ck_assert(host_wait_intervenes);
    while (poller.until_probe > 1)
        poll(false);
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), 0);
    ck_assert(!host_wait_intervenes);
    ck_assert_uint_eq(estimate(LONG, INTERRUPTED), LONG);
    end_estimates();
}
END_TEST

static void progress_of_the_library(unsigned polls)
{
    host_wait_suspend();
    while (polls--)
        host_wait_ignores_poll();
    host_wait_resume();
}

START_TEST(progress_that_the_library_makes_is_not_estimated)
{
    begin_to_estimate();
    for (unsigned steps = 0; steps < 4; steps++)
        progress_of_the_library(POLLS_PER_PROBE / 8);
    ck_assert_uint_eq(estimate(LONG, 100), POLLS_PER_PROBE / 2 * 100);
    progress_of_the_library(2 * POLLS_PER_PROBE);
    ck_assert_uint_eq(estimate(LONG, 100), 0);
    ck_assert_uint_eq(estimate(LONG, 100), POLLS_PER_PROBE * 100);
    host_wait_ignores_poll();
    host_wait_suspend();
    host_wait_polls_left = POLLS_PER_PROBE; /* another thread has run probe() */
    host_wait_resume();
    ck_assert_uint_eq(estimate(LONG, 100), 0);
    end_estimates();
}
END_TEST

/* Polls of 100 ticks each, between which the program works. Returns the waiting time that is added.
 */
static uint64_t waited_by_polls(unsigned polls, uint64_t work)
{
    uint64_t before = sync_waited_ticks();
    while (polls--) {
        bool timed = !host_wait_ignores_poll();
        if (timed)
            host_wait_before_poll(false);
        planned_now += 100;
        if (timed)
            host_wait_polled(false, false);
        planned_now += work;
    }
    return sync_waited_ticks() - before;
}

START_TEST(polls_that_a_thread_does_not_time_between_yields_are_estimated)
{
    begin(WAIT_yield, 1);
    become(0);
    planned_now = LONG;
    planned_yield = SHORT_YIELD;
    for (uint64_t work = 0; work < 512; work += 100) {
        host_wait_enter(CALL_POLLS);
        waited_by_polls(2 * POLLS_PER_YIELD, work);
        uint64_t waited = waited_by_polls(10000, work);
        ck_assert_uint_ge(waited, 9900 * 100);
        ck_assert_uint_le(waited, 10100 * 100);
        host_wait_leave(false);
    }
    planned_now = planned_yield = 0;
    end();
}
END_TEST

UNIT_MAIN(no_announced_message_is_missed, a_poll_announces_what_was_sent_before,
          a_thread_that_was_woken_does_not_sleep_again_at_once,
          a_wait_may_begin_before_anything_is_shared, messages_without_announcement_are_found,
          the_sleeps_of_a_wait_become_longer,
          a_thread_with_nobody_to_yield_to_polls_until_it_sleeps,
          a_thread_sleeps_only_where_a_message_wakes_it,
          a_thread_that_was_away_announces_what_its_host_may_answer,
          calls_in_quick_succession_wake_nobody, slow_polls_belong_to_a_wait_if_a_call_waits,
          a_program_that_only_polls_sleeps_at_last,
          a_program_with_work_to_do_does_not_sleep_because_yields_take_long,
          a_program_that_polls_pauses_after_a_yield_that_took_long,
          few_polls_are_timed_if_no_yield_is_due,
          a_program_that_polls_goes_on_sleeping_until_it_has_work,
          a_program_that_polls_is_awake_when_it_has_found_a_message,
          the_host_yields_except_while_the_program_polls,
          the_host_yields_in_the_first_polls_for_an_answer,
          few_polls_of_a_wait_are_timed_unless_yields_are_long, progress_ends_a_wait,
          a_suspended_thread_does_not_wait, polls_are_looked_at_rarely,
          a_thread_yields_while_it_shares_its_processor,
          a_thread_stops_yielding_to_one_that_computes,
          polls_take_as_long_as_the_shorter_of_two_that_are_timed,
          the_estimate_is_at_most_the_time_that_nothing_else_has_counted,
          nothing_is_estimated_while_all_polls_are_timed,
          progress_that_the_library_makes_is_not_estimated,
          polls_that_a_thread_does_not_time_between_yields_are_estimated)
