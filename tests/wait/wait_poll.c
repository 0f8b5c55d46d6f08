/* With more ranks than processors, a program that polls a window with calls that never wait yields
 * soon: the rank that it waits for may need the processor. A program that works with the same calls
 * does not. Counts calls and yields, which do not depend on what else the machine does. */
#include "oversubscribe.h"
#include <sys/syscall.h>
#include <unistd.h>

static MPI_Win win;
static int64_t *memory, other = 1;
static double most_while_polling;
static _Atomic long yields;

/* This definition takes the place of the C library's, also for the library and the host. */
int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

static void fetch(void)
{
    int64_t value;
    MPI_Fetch_and_op(NULL, &value, MPI_INT64_T, test_rank, 0, MPI_NO_OP, win);
    MPI_Win_flush_local(test_rank, win);
}

static void get(void)
{
    int64_t value;
    MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(0, win);
}

static void compare_and_swap(void)
{
    int64_t value, never = -1;
    MPI_Compare_and_swap(&other, &never, &value, MPI_INT64_T, 0, 0, win);
    MPI_Win_flush(0, win);
}

static void synchronise(void)
{
    MPI_Win_sync(win);
}

static void lock(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    MPI_Win_unlock(test_rank, win);
}

/* ---- work ---- */

static void count(void)
{
    int64_t value;
    MPI_Fetch_and_op(&other, &value, MPI_INT64_T, test_rank, 1, MPI_SUM, win);
    MPI_Win_flush_local(test_rank, win);
}

static void put(void)
{
    MPI_Put(&other, 1, MPI_INT64_T, test_rank, 1, 1, MPI_INT64_T, win);
    MPI_Win_sync(win);
}

/* ---- the test ---- */

/* Returns the number of calls between two yields. */
static double calls_between_yields(void (*call)(void))
{
    enum { CALLS = 20000 };
    MPI_Barrier(MPI_COMM_WORLD);
    long before = yields;
    for (int i = 0; i < CALLS; i++)
        call();
    return CALLS / (double)(yields - before + 1);
}

static double counted(const char *name, void (*call)(void))
{
    double calls = calls_between_yields(call);
    if (test_rank == 0)
        printf("%-17s %8.0f calls between yields\n", name, calls);
    return calls;
}

static void polling(const char *name, void (*call)(void))
{
    double calls = counted(name, call);
    CHECK(calls < 200, "%s: %.0f calls", name, calls);
    if (calls > most_while_polling)
        most_while_polling = calls;
}

/* A program that works yields only inside the host, whose progress gets a share of the time, so the
 * number of calls depends on the machine: compare with those that poll. */
static void working(const char *name, void (*call)(void))
{
    double calls = counted(name, call);
    CHECK(calls > 2 * most_while_polling, "%s: %.0f calls, %.0f of those that poll", name, calls,
          most_while_polling);
}

static void share_a_processor(void)
{
    cpu_set_t one;
    sched_getaffinity(0, sizeof one, &one);
    for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &one) && found++)
            CPU_CLR(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    share_a_processor();
    test_begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 64);
    polling("lock", lock);
    MPI_Win_lock_all(0, win);
    polling("fetch", fetch);
    polling("get", get);
    polling("compare_and_swap", compare_and_swap);
    polling("synchronise", synchronise);
    working("count", count);
    working("put", put);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return test_end();
}
