/* The two functions of the C library by which hosts copy from process to process (alloc/vm_copy.h).
 *
 * What is not ours goes on to the next definition, which may be a tool's. That is all that happens
 * in a process without MPI (H1).
 */
#include "alloc/vm_copy.h"
#include "pmpi_wrap/host.h"

#include <sys/uio.h>

#define EXPORT __attribute__((visibility("default")))

typedef ssize_t transfer_fn(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                            unsigned long, unsigned long);

static transfer_fn *next_read, *next_write;

/* Threads that look at once find the same. */
static COLD transfer_fn *find(transfer_fn **next, const char *name)
{
    transfer_fn *found = (transfer_fn *)host_next(name);
    __atomic_store_n(next, found, __ATOMIC_RELAXED);
    return found;
}

HOT_INLINE transfer_fn *next_of(transfer_fn **next, const char *name)
{
    transfer_fn *known = __atomic_load_n(next, __ATOMIC_RELAXED);
    return LIKELY(known != NULL) ? known : find(next, name);
}

/* One piece of memory on either side, of one length: as hosts ask for contiguous messages. */
HOT_INLINE bool is_plain(const struct iovec *here, unsigned long pieces_here,
                         const struct iovec *there, unsigned long pieces_there, unsigned long flags)
{
    return pieces_here == 1 && pieces_there == 1 && !flags && here->iov_len == there->iov_len;
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long pieces_here,
                                const struct iovec *there, unsigned long pieces_there,
                                unsigned long flags)
{
    if (is_plain(here, pieces_here, there, pieces_there, flags) &&
        vm_copy_read(pid, here->iov_base, (uintptr_t)there->iov_base, here->iov_len))
        return (ssize_t)here->iov_len;
    return next_of(&next_read, "process_vm_readv")(pid, here, pieces_here, there, pieces_there,
                                                   flags);
}

EXPORT ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long pieces_here,
                                 const struct iovec *there, unsigned long pieces_there,
                                 unsigned long flags)
{
    if (is_plain(here, pieces_here, there, pieces_there, flags) &&
        vm_copy_write(pid, (uintptr_t)there->iov_base, here->iov_base, here->iov_len))
        return (ssize_t)here->iov_len;
    return next_of(&next_write, "process_vm_writev")(pid, here, pieces_here, there, pieces_there,
                                                     flags);
}
