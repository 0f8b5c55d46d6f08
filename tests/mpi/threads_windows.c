/* Each thread creates, uses and frees windows on a communicator of its own, with memory and
 * datatypes that it allocates and frees, while the other threads do the same (H25: threads). */
#include "threads.h"

enum { THREADS = 3, ROUNDS = 40 };

static MPI_Comm comms[THREADS];

static int with_fence(MPI_Win win, int64_t *memory, int count, int number)
{
    int64_t *values = malloc((size_t)count * sizeof *values), wrong = 0;
    MPI_Datatype pairs;
    MPI_Type_vector(count / 2, 1, 2, MPI_INT64_T, &pairs);
    MPI_Type_commit(&pairs);
    for (int i = 0; i < count; i++)
        values[i] = 1000 * number + i;
    MPI_Win_fence(0, win);
    MPI_Put(values, 1, pairs, test_next(), 0, 1, pairs, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++)
        wrong += memory[i] != (i % 2 ? 0 : 1000 * number + i);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Type_free(&pairs);
    free(values);
    return (int)wrong;
}

static int with_locks(MPI_Win win, int number)
{
    int64_t before = -1, add = number;
    MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win);
    MPI_Fetch_and_op(&add, &before, MPI_INT64_T, test_next(), 1, MPI_SUM, win);
    MPI_Win_unlock(test_next(), win);
    return before != 0;
}

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument, wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int count = 2 * (1 + round * (number + 1) * 7 % 500);
        size_t bytes = (size_t)count * sizeof(int64_t);
        int64_t *memory;
        MPI_Win win;
        if (round % 2) {
            MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
            MPI_Win_create(memory, (MPI_Aint)bytes, 8, MPI_INFO_NULL, comms[number], &win);
        } else
            MPI_Win_allocate((MPI_Aint)bytes, 8, MPI_INFO_NULL, comms[number], &memory, &win);
        memset(memory, 0, bytes);
        wrong += with_fence(win, memory, count, number + 1);
        MPI_Barrier(comms[number]);
        wrong += with_locks(win, number + 1);
        MPI_Barrier(comms[number]);
        wrong += memory[1] != number + 1;
        MPI_Win_free(&win);
        if (round % 2)
            MPI_Free_mem(memory);
    }
    return (void *)(intptr_t)wrong;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong, "thread %d: %d times", i, (int)(intptr_t)wrong);
        MPI_Comm_free(&comms[i]);
    }
    return test_end();
}
