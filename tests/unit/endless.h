/* Includes core/sync.c with observed system calls, instead of linking it. If `endless` is set,
 * sleeps have no time limit: a lost wake-up then hangs the case, while the limit would hide it. */
#ifndef UNIT_ENDLESS_H
#define UNIT_ENDLESS_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool endless;
static bool refuses_waitv; /* futex_waitv() fails with ENOSYS, as before Linux 5.16 */
static _Atomic unsigned futex_waits, futex_wakes;

static long watched_syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    /* core/sync.c makes no system calls but futex() and futex_waitv(). */
    if (number != SYS_futex && refuses_waitv) {
        errno = ENOSYS;
        return -1;
    }
    if (number != SYS_futex || a[1] == FUTEX_WAIT) {
        futex_waits++;
        if (endless)
            a[3] = 0;
    } else
        futex_wakes++;
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Duration of a yield. 0: it is a real one, which takes long on a busy machine. */
static uint64_t yield_takes_ns;

static int slow_yield(void)
{
    if (!yield_takes_ns)
        return sched_yield();
    spin_ns(yield_takes_ns);
    return 0;
}

#define sched_yield          slow_yield
#define syscall(number, ...) watched_syscall(number, __VA_ARGS__, 0L, 0L, 0L, 0L)
#include "core/sync.c"
#undef syscall
#undef sched_yield

/* Several threads then share it. Returns the processors that the calling thread had before. */
static inline cpu_set_t bind_to_one_processor(void)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    for (int cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return before;
}

/* Wait until a thread sleeps on the word. */
static inline void await_sleeper(struct sync_word *word)
{
    while (!atomic_load(&word->sleepers))
        sleep_us(100);
    sleep_us(1000);
}

#endif
