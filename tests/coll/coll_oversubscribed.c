/* H12: more ranks than processors. Thousands of collectives take little time, and a rank that waits
 * for an absent rank sleeps. */
#include "oversubscribe.h"

#include <unistd.h>

enum { AWAY_MS = 400, TIMES = 1000 };

static double one, sum;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast(void)
{
    MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void scatter(void)
{
    double all[64] = {0};
    MPI_Scatter(all, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    double out[64] = {0}, in[64];
    MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        void (*wait)(void);
        const char *name;
    } cases[] = {{barrier, "barrier"},
                 {allreduce, "allreduce"},
                 {bcast, "bcast"},
                 {scatter, "scatter"},
                 {alltoall, "alltoall"}};
    share_processors();
    test_begin(&argc, &argv);
    for (int i = 0; i < 8; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
        double begin = MPI_Wtime();
        for (int i = 0; i < TIMES; i++)
            cases[c].wait();
        double took = MPI_Wtime() - begin;
        CHECK(took < 5, "%d times %s took %.1f s", TIMES, cases[c].name, took);
    }
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0) {
            usleep(AWAY_MS * 1000);
            cases[c].wait();
        } else {
            double before = processor_seconds();
            long slept_before = sleeps();
            cases[c].wait();
            double used = processor_seconds() - before;
            long slept = sleeps() - slept_before;
            CHECK(used < AWAY_MS / 4e3, "waiting in %s used %.3f s", cases[c].name, used);
            CHECK(slept > 0, "waiting in %s never slept", cases[c].name);
        }
    }
    return test_end();
}
