/* Ranks bound to different processors, on a machine where, according to sysfs, each processor has a
 * last-level cache of its own. argv[1]: how ranks are bound, in `turns` or in `blocks`; or
 * `hidden`: in turns, without information in sysfs. Checks the results of collectives; rank 0
 * prints a sum whose last bits depend on the order of the operands, which must not depend on the
 * binding. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test.h"

#include <dlfcn.h>
#include <glob.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TIMES = 60 };

static bool hidden;

/* ---- the machine ---- */

/* Replaces the C library's function. A file that names only one processor is substituted for all
 * sysfs files of shared resources. */
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    int (*real)(const char *, int, int (*)(const char *, int), glob_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "glob");
    char path[64];
    unsigned cpu;
    static int file = -1;
    if (sscanf(pattern, "/sys/devices/system/cpu/cpu%u/", &cpu) != 1)
        return real(pattern, flags, failed, found);
    if (hidden)
        return GLOB_NOMATCH;
    if (file < 0)
        file = memfd_create("list", 0);
    if (ftruncate(file, 0) || pwrite(file, path, (size_t)sprintf(path, "%u\n", cpu), 0) < 1)
        return GLOB_ABORTED;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return real(path, flags, failed, found);
}

static unsigned number(const char *name, const char *other)
{
    const char *text = getenv(name) ? getenv(name) : getenv(other);
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* To the first or the second of the available processors. */
static bool bind_to(unsigned which)
{
    cpu_set_t available, one;
    sched_getaffinity(0, sizeof available, &available);
    CPU_ZERO(&one);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &available) && which-- == 0)
            CPU_SET(cpu, &one);
    return CPU_COUNT(&one) == 1 && sched_setaffinity(0, sizeof one, &one) == 0;
}

/* ---- collectives ---- */

static int words[4096], more[4096];

static void moves(int turn)
{
    int root = turn % test_size, n = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 100 : 4096;
    for (int i = 0; i < n; i++)
        words[i] = test_rank == root ? turn * 31 + i : -1;
    MPI_Bcast(words, n, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(words[0] == turn * 31 && words[n - 1] == turn * 31 + n - 1, "bcast %d", turn);
    for (int i = 0; i < test_size * 8; i++)
        more[i] = turn * 1000 + i;
    MPI_Scatter(more, 8, MPI_INT, words, 8, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(words[7] == turn * 1000 + test_rank * 8 + 7, "scatter %d", turn);
}

static void sums(int turn)
{
    int root = turn * 5 % test_size, n = turn % 2 ? 1 : 500, sum = test_size * (test_size - 1) / 2;
    for (int i = 0; i < n; i++)
        words[i] = test_rank * (i + turn), more[i] = -1;
    MPI_Allreduce(words, more, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(more[0] == sum * turn && more[n - 1] == sum * (n - 1 + turn), "allreduce %d", turn);
    MPI_Reduce(words, more, n, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    if (test_rank == root)
        CHECK(more[n - 1] == (test_size - 1) * (n - 1 + turn), "reduce %d", turn);
}

/* No rank leaves a barrier before all have entered. */
static void barriers(MPI_Win win, int turn)
{
    int arrived = 0, one = 1;
    MPI_Fetch_and_op(&one, &arrived, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(NULL, &arrived, MPI_INT, 0, 0, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    CHECK(arrived == turn * test_size, "barrier %d: %d had arrived", turn, arrived);
    MPI_Barrier(MPI_COMM_WORLD);
}

static double inexact_sum(void)
{
    double mine = 1.0 / (3 + test_rank * 7919 % 101) * (test_rank % 3 ? 1e9 : 1), sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "turns";
    unsigned rank = number("OMPI_COMM_WORLD_RANK", "PMI_RANK");
    unsigned size = number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
    hidden = !strcmp(how, "hidden");
    if (!bind_to(!strcmp(how, "blocks") ? rank >= size / 2 : rank % 2))
        return 77;
    test_begin(&argc, &argv);
    int *arrived = window_memory(sizeof *arrived);
    MPI_Win win = window_over(arrived, sizeof *arrived, sizeof *arrived);
    MPI_Win_lock_all(0, win);
    for (int turn = 1; turn <= TIMES; turn++) {
        moves(turn);
        sums(turn);
        barriers(win, turn);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(arrived);
    double sum = inexact_sum();
    if (test_rank == 0)
        printf("sum %a\n", sum);
    return test_end();
}
