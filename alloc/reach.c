#include "alloc/reach.h"

#include "core/sync.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

/* SYS_process_vm_readv or the other: by the name of the C library's function we would ask
 * ourselves (alloc/cma.h). The kernel may do less than it was asked for: at most 2 GiB, and up to a
 * page that is not there. */
static bool transfer(long move, int pid, char *here, uint64_t there, size_t bytes)
{
    while (bytes) {
        struct iovec ours = {here, bytes}, theirs = {(void *)(uintptr_t)there, bytes};
        long done = syscall(move, pid, &ours, 1, &theirs, 1, 0);
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
    return transfer(SYS_process_vm_readv, pid, to, from, bytes);
}

bool reach_write(int pid, uint64_t to, const void *from, size_t bytes)
{
    return transfer(SYS_process_vm_writev, pid, (char *)from, to, bytes);
}

/* The last of those that share a place, as their probes: a program may make a team for each of its
 * steps, and the kernel's answer takes 2 us, all else 1. */
enum { REACHED = 64 };
static _Atomic uint64_t reached[REACHED];

bool reach_works(int pid, uint64_t address, uint64_t probe)
{
    _Atomic uint64_t *known = &reached[probe % REACHED];
    uint64_t found = 0;
    if (atomic_load_explicit(known, memory_order_relaxed) == probe)
        return true;
    if (!reach_read(pid, &found, address, sizeof found) || found != probe)
        return false;
    atomic_store_explicit(known, probe, memory_order_relaxed);
    return true;
}

/* ---- what it costs ---- */

enum { SAMPLE = 64 << 10, TRIES = 8 };

static bool copy_plainly(int pid, void *to, uint64_t from, size_t bytes)
{
    (void)pid;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return true;
}

/* The best of some, since we may lose the processor meanwhile. */
static uint64_t measure(bool (*copy)(int, void *, uint64_t, size_t), char *room)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t start = sync_ticks();
        if (!copy(getpid(), room + SAMPLE, (uint64_t)(uintptr_t)room, SAMPLE))
            return UINT32_MAX;
        uint64_t ticks = sync_ticks() - start;
        best = ticks < best ? ticks : best;
    }
    return best ? best : 1;
}

/* Ticks for a sample, by a plain copy and by the kernel. Threads that measure at once find much the
 * same. */
static _Atomic uint64_t plain, by_kernel;

static void measure_both(void)
{
    if (atomic_load_explicit(&by_kernel, memory_order_acquire))
        return;
    char *room = mmap(NULL, (size_t)2 * SAMPLE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    bool none = room == MAP_FAILED;
    atomic_store_explicit(&plain, none ? UINT32_MAX : measure(copy_plainly, room),
                          memory_order_relaxed);
    /* Release: who finds this finds the other. */
    atomic_store_explicit(&by_kernel, none ? UINT32_MAX : measure(reach_read, room),
                          memory_order_release);
    if (!none)
        munmap(room, (size_t)2 * SAMPLE);
}

uint64_t reach_ticks(size_t bytes)
{
    measure_both();
    return by_kernel * bytes / SAMPLE;
}

unsigned reach_percent(void)
{
    measure_both();
    return (unsigned)(by_kernel * 100 / plain);
}
