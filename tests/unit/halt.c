/* Threads stand still while they are halted, whatever they do, and go on afterwards; and what
 * happens where the system forbids it. */
#include "core/os_number.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>

/* A kernel with Yama, whether this one has it or not. */
static bool refused;       /* ptrace() is, until an exception is made */
static const char *yama;   /* what ptrace_scope says; NULL: the system's own */
static int asked[4], asks; /* whom exceptions were made for */

static int except(int who)
{
    asked[asks++ % 4] = who;
    if (who)
        refused = false;
    return 0;
}

#define ptrace(request, ...) \
    ((request) == PTRACE_SEIZE && refused ? (errno = EPERM, -1L) : ptrace(request, __VA_ARGS__))
#define os_number(path)  (yama && strstr(path, "yama") ? strtoul(yama, NULL, 10) : os_number(path))
#define prctl(what, who) ((what) == PR_SET_PTRACER ? except(who) : prctl(what, who))
#include "alloc/halt.c"
#include "tests/unit/unit.h"

enum { THREADS = 3 };
static _Atomic long count[THREADS];
static _Atomic bool stop;
static pthread_t thread[THREADS];

/* The first one blocks all signals, the second mostly sleeps. */
static void *work(void *which)
{
    long i = (long)which;
    sigset_t all;
    sigfillset(&all);
    if (i == 0)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (!stop) {
        count[i]++;
        if (i == 1)
            sleep_us(100);
    }
    return NULL;
}

static void counts(long now[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        now[i] = count[i];
}

/* All of them count on. */
static void expect_running(void)
{
    long before[THREADS];
    counts(before);
    for (int i = 0; i < THREADS; i++)
        while (count[i] == before[i])
            sleep_us(1000);
}

/* For so long that they would all have had a turn. */
static void expect_standing(void)
{
    long before[THREADS];
    counts(before);
    spin_ns(50 * 1000 * 1000);
    sleep_us(50000);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(count[i], before[i]);
}

static void begin_threads(void)
{
    refused = stop = false;
    yama = NULL;
    asks = 0;
    for (long i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, (void *)i), 0);
    expect_running();
}

static void end_threads(void)
{
    expect_running();
    stop = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static bool signals_come(void)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    return !sigismember(&blocked, SIGUSR1);
}

START_TEST(threads_stand_still_and_go_on)
{
    const char *why = NULL;
    begin_threads();
    for (int round = 0; round < 3; round++) {
        ck_assert_msg(halt_begin(&why), "%s", why);
        ck_assert(!signals_come());
        expect_standing();
        halt_end();
        ck_assert(signals_come());
        expect_running();
    }
    ck_assert_int_eq(asks, 0);
    end_threads();
}
END_TEST

START_TEST(one_thread_needs_no_helper)
{
    const char *why = NULL;
    refused = true;
    yama = "3";
    ck_assert_msg(halt_begin(&why), "%s", why);
    ck_assert(!helper && !signals_come());
    halt_end();
    ck_assert(signals_come());
}
END_TEST

START_TEST(where_only_ancestors_may_trace_an_exception_is_made_and_taken_back)
{
    const char *why = NULL;
    begin_threads();
    refused = true;
    yama = "1";
    ck_assert_msg(halt_begin(&why), "%s", why);
    ck_assert_int_eq(asks, 2);
    ck_assert(asked[0] == helper && asked[1] == 0);
    expect_standing();
    halt_end();
    end_threads();
}
END_TEST

static void expect_refusal(const char *with_scope)
{
    const char *why = NULL;
    begin_threads();
    refused = true;
    yama = with_scope;
    ck_assert(!halt_begin(&why));
    ck_assert_msg(why && strstr(why, "ptrace()"), "%s", why);
    ck_assert_int_eq(asks, 0);
    ck_assert(signals_come() && !helper && !halt);
    end_threads();
}

START_TEST(where_nobody_may_trace_they_run_on)
{
    expect_refusal("2\n");
    expect_refusal("3\n");
    expect_refusal("0\n"); /* then it is something else that forbids it */
}
END_TEST

UNIT_MAIN(threads_stand_still_and_go_on, one_thread_needs_no_helper,
          where_only_ancestors_may_trace_an_exception_is_made_and_taken_back,
          where_nobody_may_trace_they_run_on)
