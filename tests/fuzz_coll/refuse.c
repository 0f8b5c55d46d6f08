/* With COLL_FUZZ_REFUSES=N, the OS refuses N percent of the copies between processes that the
 * library makes by the bare system call: this program defines syscall() in place of the C library.
 */
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool refuses(void)
{
    static int percent = -1;
    static _Atomic unsigned tries;
    if (percent < 0) {
        const char *text = getenv("COLL_FUZZ_REFUSES");
        percent = text ? atoi(text) : 0;
    }
    return (int)(mix(++tries + (uint64_t)world_rank * 1000003u) % 100) < percent;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    /* The library must not notice it while it sets up a communicator, by copies of a few bytes. */
    bool copies = number == SYS_process_vm_readv || number == SYS_process_vm_writev;
    if (copies && ((struct iovec *)a[3])->iov_len > 64 && refuses()) {
        errno = EPERM;
        return -1;
    }
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
