#include "core/peer_memory.h"

#include "core/sync.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t own_probe;

uint64_t peer_memory_probe(uint64_t *address)
{
    if (!own_probe)
        own_probe = sync_now_ns() << 16 ^ (uint64_t)getpid();
    *address = (uint64_t)(uintptr_t)&own_probe;
    return own_probe;
}

/* Make a bare system call, because this library itself intercepts the C library's functions
 * (pmpi_wrap/process_vm_entry.h). A call may copy less than requested: at most 2 GiB, and only up
 * to a page that does not exist. */
static bool transfer_by_os(long call, int pid, char *local, uint64_t remote, size_t bytes)
{
    while (bytes) {
        struct iovec local_part = {local, bytes};
        struct iovec remote_part = {(void *)(uintptr_t)remote, bytes};
        long done = syscall(call, pid, &local_part, 1, &remote_part, 1, 0);
        if (done <= 0)
            return false;
        local += done;
        remote += (size_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

/* Wait for the launcher, because a peer that could be reached is gone. The launcher ends this rank,
 * too, and reports how the peer died, unless this rank is the first to report an error. */
static COLD void await_launcher(void)
{
    const uint64_t timeout_ns = 3000000000;
    uint64_t start = sync_now_ns();
    struct sync_wait wait = SYNC_WAIT;
    while (sync_now_ns() - start < timeout_ns)
        sync_pause(&wait);
}

static _Atomic bool was_refused;

static bool transfer_with_peer(long call, int pid, char *local, uint64_t remote, size_t bytes)
{
    bool done = transfer_by_os(call, pid, local, remote, bytes);
    if (done)
        return true;
    if (errno == ESRCH) {
        await_launcher();
        errno = ESRCH;
    }
    atomic_store_explicit(&was_refused, true, memory_order_relaxed);
    return false;
}

bool peer_memory_read(int pid, void *to, uint64_t from, size_t bytes)
{
    return transfer_with_peer(SYS_process_vm_readv, pid, to, from, bytes);
}

bool peer_memory_write(int pid, uint64_t to, const void *from, size_t bytes)
{
    return transfer_with_peer(SYS_process_vm_writev, pid, (char *)from, to, bytes);
}

/* A direct-mapped cache of the probes that were read successfully: a program may create a team in
 * each of its steps, and reading a probe takes 2 us. */
enum { REACHED = 64 };
static _Atomic uint64_t reached[REACHED];

bool peer_memory_works(int pid, uint64_t address, uint64_t probe)
{
    _Atomic uint64_t *known = &reached[probe % REACHED];
    uint64_t found = 0;
    if (atomic_load_explicit(known, memory_order_relaxed) == probe &&
        !atomic_load_explicit(&was_refused, memory_order_relaxed))
        return true;
    /* Do not wait for the launcher: ESRCH may also mean that the peer is in another PID
     * namespace. */
    if (!transfer_by_os(SYS_process_vm_readv, pid, (char *)&found, address, sizeof found) ||
        found != probe)
        return false;
    atomic_store_explicit(known, probe, memory_order_relaxed);
    return true;
}
