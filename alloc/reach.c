#include "alloc/reach.h"

#include "core/sync.h"

#include <sys/mman.h>
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

enum { SAMPLE = 64 << 10, TRIES = 8 };

/* The best of some, since we may lose the processor meanwhile. */
static uint64_t measure(char *to, const char *from)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = sync_ticks();
        if (!reach_read(getpid(), to, (uint64_t)(uintptr_t)from, SAMPLE))
            return UINT64_MAX / SAMPLE;
        uint64_t ticks = sync_ticks() - start;
        best = ticks < best ? ticks : best;
    }
    return best;
}

uint64_t reach_ticks(size_t bytes)
{
    static _Atomic uint64_t known; /* of a sample; threads that measure at once find the same */
    uint64_t ticks = atomic_load_explicit(&known, memory_order_relaxed);
    if (!ticks) {
        char *room = mmap(NULL, (size_t)2 * SAMPLE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (room == MAP_FAILED)
            return 0;
        ticks = measure(room + SAMPLE, room);
        munmap(room, (size_t)2 * SAMPLE);
        atomic_store_explicit(&known, ticks, memory_order_relaxed);
    }
    return ticks * bytes / SAMPLE;
}
