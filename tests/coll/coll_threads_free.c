/* Threads create communicators, make a few collective calls that do not synchronise, and free them
 * at once, while their set-up may still be in progress (H14: setting up a communicator; H25:
 * threads). */
#include "kinds.h"
#include "threads.h"

enum { THREADS = 4, TIMES = 60 };

static MPI_Comm comms[THREADS];

static void *work(void *number)
{
    intptr_t t = (intptr_t)number;
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(comms[t], &comm);
        for (int call = 0; call < 2 + i % 3; call++) {
            int value = test_rank ? -1 : i + call;
            MPI_Bcast(&value, 1, MPI_INT, 0, comm);
            kinds_expect(value, i + call, "bcast", "one that is freed at once");
        }
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    threads_run_on_comms(THREADS, work, comms);
    kinds_all(MPI_COMM_WORLD, 1, "world");
    return test_end();
}
