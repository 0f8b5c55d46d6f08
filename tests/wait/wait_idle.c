/* With MPIACCEL_WAIT=sleep a rank that waits for half a second hardly uses its processor, and goes
 * on when the other rank has done what it waits for. Rank 1 prints its processor time and the
 * delay. At the end, rank 1 sleeps in MPI_Barrier while rank 0 accesses its window of the host.
 */
#include "oversubscribe.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const double pause_s = 0.5;
static MPI_Win win[2];

enum kind { RECV, WAITALL, TEST, BARRIER, IBARRIER, PROBE, LOCK, LOCK_OF_HOST, KINDS };
static const char *const names[] = {
    "MPI_Recv",     "MPI_Waitall", "MPI_Test",     "MPI_Barrier",
    "MPI_Ibarrier", "MPI_Probe",   "MPI_Win_lock", "MPI_Win_lock of the host"};

static void barrier(bool blocking)
{
    MPI_Request request;
    if (blocking) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The call in which rank 1 waits for rank 0. */
static void wait_for_it(enum kind kind, double *sent)
{
    MPI_Request request;
    int flag = 0;
    switch (kind) {
    case RECV:
        MPI_Recv(sent, 1, MPI_DOUBLE, 0, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case PROBE:
        MPI_Probe(0, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(sent, 1, MPI_DOUBLE, 0, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case WAITALL:
    case TEST:
        MPI_Irecv(sent, 1, MPI_DOUBLE, 0, kind, MPI_COMM_WORLD, &request);
        while (kind == TEST && !flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        break;
    case BARRIER:
    case IBARRIER:
        barrier(kind == BARRIER);
        break;
    default:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win[kind == LOCK_OF_HOST]);
        MPI_Win_unlock(0, win[kind == LOCK_OF_HOST]);
    }
}

/* What rank 0 does when it has slept. It has had the lock from the start. */
static void do_it(enum kind kind, const double *now)
{
    switch (kind) {
    case RECV:
    case PROBE:
    case WAITALL:
    case TEST:
        MPI_Send(now, 1, MPI_DOUBLE, 1, kind, MPI_COMM_WORLD);
        break;
    case BARRIER:
    case IBARRIER:
        barrier(kind == BARRIER);
        break;
    default:
        MPI_Win_unlock(0, win[kind == LOCK_OF_HOST]);
    }
}

/* MPI_Wtime() of different ranks may differ. */
static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void one(enum kind kind)
{
    double now = 0, busy;
    bool locks = kind == LOCK || kind == LOCK_OF_HOST;
    if (locks && test_rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win[kind == LOCK_OF_HOST]);
    MPI_Barrier(MPI_COMM_WORLD);
    busy = processor_seconds();
    if (test_rank == 0) {
        nanosleep(&(struct timespec){.tv_nsec = (long)(pause_s * 1e9)}, NULL);
        now = now_s();
        do_it(kind, &now);
    } else {
        double sent;
        wait_for_it(kind, &sent);
        double after = now_s();
        busy = processor_seconds() - busy;
        MPI_Recv(&now, 1, MPI_DOUBLE, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%-25s %5.2f %% of a processor, goes on after %6.0f us\n", names[kind],
               100 * busy / pause_s, 1e6 * (after - now));
        CHECK(busy < 0.1 * pause_s, "%s: %.2f s of processor time", names[kind], busy);
    }
    if (test_rank == 0)
        MPI_Send(&now, 1, MPI_DOUBLE, 1, 99, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whether there is futex_waitv(): since Linux 5.16, but not in every container. Without words to
 * wait for, it fails with EINVAL. */
static bool linux_waits_for_two(void)
{
#ifdef SYS_futex_waitv
    return syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == -1 && errno == EINVAL;
#else
    return false;
#endif
}

/* Rank 0 accesses a window of the host on rank 1, which sleeps in MPI_Barrier for up to four
 * milliseconds at a time. If the messages did not wake rank 1, an epoch would take three such
 * sleeps. */
static void operate_on_sleeper(void)
{
    enum { BATCHES = 10, OPERATIONS = 10 };
    double best = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; test_rank == 0 && i < BATCHES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
        double start = now_s(), value = i;
        for (int k = 0; k < OPERATIONS; k++) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win[1]);
            MPI_Accumulate(&value, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, win[1]);
            MPI_Win_unlock(1, win[1]);
        }
        double each = (now_s() - start) / OPERATIONS;
        best = each < best ? each : best;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0 && linux_waits_for_two()) {
        printf("an epoch with a rank that sleeps takes %.0f us\n", 1e6 * best);
        CHECK(best < 4e-3, "an epoch with a rank that sleeps takes %.4f s", best);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    void *memory = window_memory(8);
    static _Alignas(64) double own; /* MPICH 4.0 puts to the next lower multiple of 16 bytes */
    MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]);
    MPI_Win_create(&own, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[1]);
    for (enum kind kind = 0; kind < KINDS; kind++)
        one(kind);
    operate_on_sleeper();
    MPI_Win_free(&win[0]);
    MPI_Win_free(&win[1]);
    MPI_Free_mem(memory);
    return test_end();
}
