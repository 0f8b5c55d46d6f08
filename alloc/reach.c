#include "alloc/reach.h"

#include "core/sync.h"

#include <sys/uio.h>
#include <unistd.h>

static uint64_t own_probe;

uint64_t reach_probe(uint64_t *address)
{
    if (!own_probe)
        own_probe = sync_now_ns() << 16 ^ (uint64_t)getpid();
    *address = (uint64_t)(uintptr_t)&own_probe;
    return own_probe;
}

typedef ssize_t transfer_fn(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                            unsigned long, unsigned long);

/* The kernel may do less than it was asked for: at most 2 GiB, and up to a page that is not there.
 */
static bool transfer(transfer_fn *move, int pid, char *here, uint64_t there, size_t bytes)
{
    while (bytes) {
        struct iovec ours = {here, bytes}, theirs = {(void *)(uintptr_t)there, bytes};
        ssize_t done = move(pid, &ours, 1, &theirs, 1, 0);
        if (done <= 0)
            return false;
        here += done;
        there += (size_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

bool reach_read(int pid, void *to, uint64_t from, size_t bytes)
{
    return transfer(process_vm_readv, pid, to, from, bytes);
}

bool reach_write(int pid, uint64_t to, const void *from, size_t bytes)
{
    return transfer(process_vm_writev, pid, (char *)from, to, bytes);
}

bool reach_works(int pid, uint64_t address, uint64_t probe)
{
    uint64_t found = 0;
    return reach_read(pid, &found, address, sizeof found) && found == probe;
}
