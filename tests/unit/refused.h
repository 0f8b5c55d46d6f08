/* Includes core/peer_memory.c with an OS that refuses copies, instead of linking it. */
#ifndef UNIT_REFUSED_H
#define UNIT_REFUSED_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned refuses_percent; /* of all copies; some of the others are not complete */
static _Atomic uint64_t copies_tried, copies_refused;

static long refusing_syscall(long number, int pid, struct iovec *local, unsigned long count,
                             const struct iovec *remote, unsigned long remote_count,
                             unsigned long flags)
{
    struct chance c = {atomic_fetch_add(&copies_tried, 1)};
    if (below(&c, 100) < refuses_percent) {
        atomic_fetch_add(&copies_refused, 1);
        errno = below(&c, 2) ? EPERM : EFAULT;
        return -1;
    }
    if (refuses_percent && local->iov_len > 1 && below(&c, 4) == 0)
        local->iov_len = 1 + below(&c, (unsigned)local->iov_len - 1);
    return syscall(number, pid, local, count, remote, remote_count, flags);
}

#define syscall refusing_syscall
#include "core/peer_memory.c"
#undef syscall

#endif
