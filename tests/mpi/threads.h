/* Helpers for tests with MPI_THREAD_MULTIPLE. */
#ifndef THREADS_H
#define THREADS_H

#include "test.h"

#include <pthread.h>

/* Exit status of a test that cannot run on this host. */
enum { TEST_SKIPPED = 77 };

/* Returns false, with MPI already finalised, if the host does not grant the level. */
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

/* Run `body(number)` in `count` threads concurrently, and join them. */
static inline void threads_run(int count, void *(*body)(void *))
{
    pthread_t threads[64];
    for (intptr_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Run `body(number)` in `count` threads concurrently, with a duplicate of MPI_COMM_WORLD in
 * comms[number] for each thread. */
static inline void threads_run_on_comms(int count, void *(*body)(void *), MPI_Comm comms[])
{
    for (int t = 0; t < count; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    threads_run(count, body);
    for (int t = 0; t < count; t++)
        MPI_Comm_free(&comms[t]);
}

#endif
