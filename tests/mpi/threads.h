/* Tests with MPI_THREAD_MULTIPLE. */
#ifndef THREADS_H
#define THREADS_H

#include "test.h"

#include <pthread.h>

/* Status of a test that could not run here. */
enum { TEST_SKIPPED = 77 };

/* False: the host does not grant it, and MPI is finalised already. */
static inline bool threads_begin(int *argc, char ***argv)
{
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    if (level == MPI_THREAD_MULTIPLE)
        return true;
    printf("no MPI_THREAD_MULTIPLE here: level %d\n", level);
    MPI_Finalize();
    return false;
}

/* Run `body(number)` in `count` threads at once, and wait for them. */
static inline void threads_run(int count, void *(*body)(void *))
{
    pthread_t threads[64];
    for (intptr_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

#endif
