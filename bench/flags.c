/* Ranks that wait for each other without MPI: a barrier and a common deadline, by flags in a window
 * of MPI_Win_allocate_shared. */
#include "bench.h"
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { POLLS = 100 };

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
static MPI_Win flags_window;
static bool oversubscribed;

void share_flags(void)
{
    MPI_Aint bytes = rank ? 0 : (MPI_Aint)sizeof *flags * (size + 1);
    int unit;
    void *mine;
    cpu_set_t own, allowed;
    sched_getaffinity(0, sizeof own, &own);
    api[HOST].Allreduce(&own, &allowed, sizeof allowed, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    oversubscribed = size > CPU_COUNT(&allowed);
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &flags_window);
    MPI_Win_shared_query(flags_window, 0, &bytes, &unit, &mine);
    flags = (struct flags *)(((uintptr_t)mine + 255) / 256 * 256);
    if (!rank)
        memset((void *)flags, 0, sizeof *flags * (size_t)size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Between two polls, as short a pause as the processor has: without it, x86 processors start loads
 * of the next polls too early, and repeat them when the flag changes. */
static inline void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
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

double common_deadline(double returned, double *last)
{
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
    MPI_Win_free(&flags_window);
}
