/* core/sync.c with its system calls intercepted, instead of the module. With `endless`, a sleep
 * does not end by itself: a lost wake-up hangs the test case, which the limit of the sleep would
 * hide. */
#ifndef UNIT_ENDLESS_H
#define UNIT_ENDLESS_H

#include "tests/unit/unit.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool endless;
static _Atomic unsigned futex_waits, futex_wakes;

static long watched_syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_futex && a[1] == FUTEX_WAIT) {
        futex_waits++;
        if (endless)
            a[3] = 0;
    } else if (number == SYS_futex)
        futex_wakes++;
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define syscall(number, ...) watched_syscall(number, __VA_ARGS__, 0L, 0L, 0L, 0L)
#include "core/sync.c"
#undef syscall

/* Waits until a rank sleeps on the word, and has had time to enter the system call. */
static inline void await_sleeper(struct sync_word *word)
{
    while (!atomic_load(&word->sleepers))
        sleep_us(100);
    sleep_us(1000);
}

#endif
