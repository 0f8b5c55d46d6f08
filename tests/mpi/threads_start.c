/* Threads of an origin access the same target for the first time in one epoch of MPI_Win_start,
 * before the target has posted. Fails if a thread's data is not there when the target's epoch ends
 * (H25: threads). */
#include "threads.h"

#include <unistd.h>

enum { THREADS = 4, EPOCHS = 200 };

static MPI_Win win;
static int epoch;

static void *put(void *number)
{
    int at = (int)(intptr_t)number;
    MPI_Put(&epoch, 1, MPI_INT, 0, at, 1, MPI_INT, win);
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    int *memory = window_memory(THREADS * sizeof *memory);
    win = window_over(memory, THREADS * sizeof *memory, sizeof *memory);
    MPI_Group world, other;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){1 - test_rank}, &other);
    for (epoch = 1; epoch <= EPOCHS; epoch++) {
        if (test_rank == 0) {
            usleep(200);
            MPI_Win_post(other, 0, win);
            MPI_Win_wait(win);
            for (int i = 0; i < THREADS; i++)
                CHECK(memory[i] == epoch, "epoch %d, thread %d: %d", epoch, i, memory[i]);
        } else {
            MPI_Win_start(other, 0, win);
            threads_run(THREADS, put);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
