/* The threads of a rank each lock another target of one window, repeatedly: their epochs are
 * independent (H25: threads). */
#include "threads.h"

enum { ROUNDS = 300 };

static int64_t *memory;
static MPI_Win win;

/* Two numbers that are equal whenever no lock is held. */
static void *work(void *number)
{
    int target = (int)(intptr_t)number, wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t pair[2] = {-1, -2};
        wrong += MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win) != MPI_SUCCESS;
        MPI_Get(pair, 2, MPI_INT64_T, target, 0, 2, MPI_INT64_T, win);
        MPI_Win_flush(target, win);
        wrong += pair[0] != pair[1];
        pair[0]++;
        MPI_Put(&pair[0], 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush_local(target, win);
        pair[1]++;
        MPI_Put(&pair[1], 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, win);
        wrong += MPI_Win_unlock(target, win) != MPI_SUCCESS;
    }
    return (void *)(intptr_t)wrong;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    memory = window_memory(2 * sizeof *memory);
    win = window_over(memory, 2 * sizeof *memory, sizeof *memory);
    pthread_t threads[64];
    for (intptr_t target = 0; target < test_size; target++)
        pthread_create(&threads[target], NULL, work, (void *)target);
    for (int target = 0; target < test_size; target++) {
        void *wrong;
        pthread_join(threads[target], &wrong);
        CHECK(!wrong, "target %d: %d times", target, (int)(intptr_t)wrong);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == (int64_t)ROUNDS * test_size && memory[1] == memory[0], "%ld, %ld",
          (long)memory[0], (long)memory[1]);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Free_mem(memory);
    return test_end();
}
