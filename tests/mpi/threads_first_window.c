/* All threads create their first window at the same time, each on a communicator of one process
 * (H25: threads). */
#include "threads.h"

enum { THREADS = 8, COUNT = 16 };

static MPI_Comm comms[THREADS];
static pthread_barrier_t barrier;

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument, *memory, got = -1;
    MPI_Win win;
    pthread_barrier_wait(&barrier);
    MPI_Win_allocate(COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comms[number], &memory,
                     &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&number, 1, MPI_INT, 0, COUNT - 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Get(&got, 1, MPI_INT, 0, COUNT - 1, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK(got == number, "%d, expected %d", got, number);
    MPI_Win_free(&win);
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[t]);
    threads_run(THREADS, work);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&comms[t]);
    return test_end();
}
