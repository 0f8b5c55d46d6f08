/* Threads with a communicator each make all kinds of collective calls at once, and create, use and
 * free communicators (H25: threads). A thread may be in another call than its peers on other ranks.
 */
#include "kinds.h"
#include "threads.h"

enum { THREADS = 3, TIMES = 60, LARGE_TIMES = 40 };

static MPI_Comm comms[THREADS];

static void *work(void *number)
{
    intptr_t t = (intptr_t)number;
    char name[32];
    snprintf(name, sizeof name, "thread %d's", (int)t);
    for (int i = 0; i < TIMES; i++) {
        kinds_all(comms[t], i * THREADS + (int)t, name);
        if (i % 16 == t) {
            MPI_Comm own;
            MPI_Comm_dup(comms[t], &own);
            for (int call = 0; call < 8; call++)
                kinds_all(own, i + call, name);
            MPI_Comm_free(&own);
        }
    }
    int big = 50000, *out = malloc((size_t)big * sizeof *out),
        *in = malloc((size_t)big * sizeof *in);
    for (int i = 0; i < LARGE_TIMES; i++) {
        int wrong = 0;
        for (int e = 0; e < big; e++)
            out[e] = e + (int)t + test_rank;
        MPI_Allreduce(out, in, big, MPI_INT, MPI_SUM, comms[t]);
        for (int e = 0; e < big; e++)
            wrong += in[e] != test_size * (e + (int)t) + test_size * (test_size - 1) / 2;
        CHECK(!wrong, "%s: %d of a large allreduce", name, wrong);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    for (int t = 0; t < THREADS; t++) {
        if (t % 2)
            MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comms[t]);
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    }
    threads_run(THREADS, work);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&comms[t]);
    kinds_all(MPI_COMM_WORLD, 1, "world");
    return test_end();
}
