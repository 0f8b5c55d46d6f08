/* Ranks that wait for each other without MPI: a barrier and a common deadline, by flags in shared
 * memory. */
#include "bench.h"
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLLS = 100, ROUND_TICKS = 70 };

/* One per rank, in shared memory. The owner writes it; `arrived` publishes `returned`, and rank 0's
 * `go` publishes `deadline`. */
static struct flags {
    _Alignas(256) _Atomic unsigned barrier; /* more than a cache line apart: prefetchers fetch pairs
                                               of lines */
    _Alignas(256) _Atomic unsigned arrived;
    double returned;
    _Alignas(256) _Atomic unsigned go;
    double deadline;
} * flags;
static size_t flags_size;
static bool oversubscribed;

static bool is_oversubscribed(void)
{
    cpu_set_t own, allowed;
    sched_getaffinity(0, sizeof own, &own);
    api[HOST].Allreduce(&own, &allowed, sizeof allowed, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    return size > CPU_COUNT(&allowed);
}

/* The memory is a file of rank 0, which the others open by its path there. Memory of
 * MPI_Win_allocate_shared is not enough: some MPIs take the ranks of a machine for ranks of several
 * nodes. */
void share_flags(void)
{
    struct {
        char path[64];
        dev_t device;
        ino_t inode;
    } place = {.path = ""};
    struct stat status = {.st_ino = 0};
    int file = -1, good, all;
    flags_size = sizeof *flags * (size_t)size;
    if (!rank) {
        file = memfd_create("flags", MFD_CLOEXEC);
        if (!ftruncate(file, (off_t)flags_size) && !fstat(file, &status)) {
            snprintf(place.path, sizeof place.path, "/proc/%d/fd/%d", getpid(), file);
            place.device = status.st_dev;
            place.inode = status.st_ino;
        }
    }
    api[HOST].Bcast(&place, sizeof place, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank)
        file = open(place.path, O_RDWR | O_CLOEXEC);
    good = !fstat(file, &status) && status.st_dev == place.device && status.st_ino == place.inode;
    if (good) {
        void *memory = mmap(NULL, flags_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        good = memory != MAP_FAILED;
        flags = good ? memory : NULL;
    }
    api[HOST].Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (file >= 0)
        close(file);
    oversubscribed = is_oversubscribed();
    if (!all)
        free_flags();
}

bool has_flags(void)
{
    return flags;
}

/* Between two polls, the shortest pause that does not delay the awaited store: see relax() in
 * core/sync.c. */
static inline void relax(void)
{
#if defined __x86_64__
    unsigned long long start = __builtin_ia32_rdtsc();
    do
        __builtin_ia32_pause();
    while (__builtin_ia32_rdtsc() - start < ROUND_TICKS);
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* The other ranks may be waiting for a processor, or in the host for this rank's progress. */
static void wait_until(_Atomic unsigned *flag, unsigned round)
{
    for (int polls = 0; (int)(atomic_load_explicit(flag, memory_order_acquire) - round) < 0;
         polls++) {
        relax();
        if (polls > POLLS) {
            int found;
            sched_yield();
            if (polls % POLLS == 0)
                api[HOST].Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
        }
    }
}

static unsigned barrier_round; /* the same on all ranks, which call the same floors */

static void raise_flag(void)
{
    atomic_store_explicit(&flags[rank].barrier, barrier_round, memory_order_release);
}

static void wait_for_others(void)
{
    for (int r = 0; r < size; r++)
        if (r != rank)
            wait_until(&flags[r].barrier, barrier_round);
}

/* Release and acquire suffice for a barrier. */
void flag_barrier(int way, long n, size_t bytes)
{
    (void)way, (void)bytes;
    for (; n; n--) {
        barrier_round++;
        raise_flag();
        wait_for_others();
    }
}

void flags_from_root(int way, long n, size_t bytes)
{
    (void)way, (void)bytes;
    for (; n; n--) {
        barrier_round++;
        if (rank)
            wait_until(&flags[0].barrier, barrier_round);
        else
            raise_flag();
    }
}

void flags_to_root(int way, long n, size_t bytes)
{
    (void)way, (void)bytes;
    for (; n; n--) {
        barrier_round++;
        if (rank)
            raise_flag();
        else
            wait_for_others();
    }
}

void flag_message(int from)
{
    barrier_round++;
    if (rank == from)
        raise_flag();
    else if (rank == !from)
        wait_until(&flags[from].barrier, barrier_round);
}

/* Clocks of different nodes cannot be compared. */
static double release_all(double returned, double *last)
{
    *last = slowest(fabs(returned));
    api[HOST].Barrier(MPI_COMM_WORLD);
    return now();
}

double common_deadline(double returned, double *last)
{
    if (!flags)
        return release_all(returned, last);
    static unsigned round;
    bool late = false;
    struct flags *mine = &flags[rank];
    mine->returned = returned;
    atomic_store_explicit(&mine->arrived, ++round, memory_order_release);
    if (rank == 0) {
        *last = 0;
        for (int r = 0; r < size; r++) {
            wait_until(&flags[r].arrived, round);
            double took = fabs(flags[r].returned);
            late |= flags[r].returned < 0;
            *last = took > *last ? took : *last;
        }
        if (late)
            *last = -*last;
        mine->deadline = now() + (oversubscribed ? 20e3 : 3e3);
        atomic_store_explicit(&mine->go, round, memory_order_release);
    } else {
        wait_until(&flags[0].go, round);
    }
    return flags[0].deadline;
}

void free_flags(void)
{
    if (flags)
        munmap((void *)flags, flags_size);
    flags = NULL;
}
