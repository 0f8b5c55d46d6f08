/* Threads create and free windows on communicators of the same ranks at the same time. Fails if two
 * threads use the same window of the host, or if the ranks disagree on which of the host's windows
 * to use again (H25: threads). */
#include "threads.h"

enum { THREADS = 2, ROUNDS = 1500 };

static MPI_Comm comms[THREADS];

static int has_name(MPI_Win win, const char *name)
{
    char is[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Win_get_name(win, is, &length);
    return !strcmp(is, name);
}

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument, wrong = 0, flag;
    char name[16];
    void *memory, *base;
    snprintf(name, sizeof name, "thread %d", number);
    MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win win;
        MPI_Win_create(memory, 64, 1 + number, MPI_INFO_NULL, comms[number], &win);
        wrong += !has_name(win, "");
        MPI_Win_set_name(win, name);
        MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
        wrong += !flag || base != memory;
        if (round % 16 == 0)
            MPI_Barrier(comms[number]);
        wrong += !has_name(win, name);
        MPI_Win_free(&win);
    }
    MPI_Free_mem(memory);
    return (void *)(intptr_t)wrong;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        for (int call = 0; call < 8; call++) /* fast collectives */
            MPI_Barrier(comms[i]);
    }
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
