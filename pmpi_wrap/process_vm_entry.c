/* process_vm_readv and process_vm_writev, the functions of the C library by which hosts copy from
 * process to process (peer_copy/vm_copy.h).
 *
 * What vm_copy does not handle goes to the next definition, which may be a tool's. In a process
 * without MPI nothing else happens (H1: loaded into processes without MPI).
 */
#include "peer_copy/vm_copy.h"
#include "pmpi_wrap/symbols.h"

#include <sys/uio.h>

#define EXPORT __attribute__((visibility("default")))

typedef ssize_t transfer_fn(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                            unsigned long, unsigned long);

static transfer_fn *next_read, *next_write;

/* Threads that search at the same time find the same definition, so the order of their stores does
 * not matter. */
static COLD transfer_fn *find_definition(transfer_fn **next, const char *name)
{
    transfer_fn *found = (transfer_fn *)symbol_next(name);
    __atomic_store_n(next, found, __ATOMIC_RELAXED);
    return found;
}

HOT_INLINE transfer_fn *next_of(transfer_fn **next, const char *name)
{
    transfer_fn *known = __atomic_load_n(next, __ATOMIC_RELAXED);
    return LIKELY(known != NULL) ? known : find_definition(next, name);
}

/* Whether there is one piece of memory on each side, both of the same length: this is how hosts
 * copy contiguous messages. */
HOT_INLINE bool is_plain(const struct iovec *local, unsigned long local_pieces,
                         const struct iovec *remote, unsigned long remote_pieces,
                         unsigned long flags)
{
    return local_pieces == 1 && remote_pieces == 1 && !flags && local->iov_len == remote->iov_len;
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_pieces,
                                const struct iovec *remote, unsigned long remote_pieces,
                                unsigned long flags)
{
    if (is_plain(local, local_pieces, remote, remote_pieces, flags) &&
        vm_copy_read(pid, local->iov_base, (uintptr_t)remote->iov_base, local->iov_len))
        return (ssize_t)local->iov_len;
    return next_of(&next_read, "process_vm_readv")(pid, local, local_pieces, remote, remote_pieces,
                                                   flags);
}

EXPORT ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_pieces,
                                 const struct iovec *remote, unsigned long remote_pieces,
                                 unsigned long flags)
{
    if (is_plain(local, local_pieces, remote, remote_pieces, flags) &&
        vm_copy_write(pid, (uintptr_t)remote->iov_base, local->iov_base, local->iov_len))
        return (ssize_t)local->iov_len;
    return next_of(&next_write, "process_vm_writev")(pid, local, local_pieces, remote,
                                                     remote_pieces, flags);
}
