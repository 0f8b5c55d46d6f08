/* What the MPI tests share. A test is one program: it exits with 0 when all its CHECKs hold on all
 * ranks. It knows nothing of the plugin; what went fast is checked by tests/run. */
#ifndef TEST_H
#define TEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_STATUSES_IGNORE is no array of statuses, but a parameter says it is. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

static int test_rank, test_size, test_failures;

#define CHECK(condition, ...)                                                                  \
    do {                                                                                       \
        if (!(condition) && test_failures++ < 10) {                                            \
            fprintf(stderr, "rank %d: %s:%d: %s:", test_rank, __FILE__, __LINE__, #condition); \
            fprintf(stderr, " " __VA_ARGS__);                                                  \
            fputc('\n', stderr);                                                               \
        }                                                                                      \
    } while (0)

/* The class of the error that a call returned. */
static inline int class_of(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    return class;
}

#define CHECK_CLASS(call, expected)                                                    \
    do {                                                                               \
        int got_ = class_of(call);                                                     \
        CHECK(got_ == (expected), "%s: class %d, expected %d", #call, got_, expected); \
    } while (0)

static inline void test_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
}

static inline int test_end(void)
{
    MPI_Finalize();
    return test_failures ? 1 : 0;
}

/* Memory of MPI_Alloc_mem for a window, zeroed. */
static inline void *window_memory(size_t bytes)
{
    void *memory;
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
    memset(memory, 0, bytes);
    return memory;
}

/* A window of all ranks over it; its errors return. */
static inline MPI_Win window_over(void *memory, size_t bytes, int unit)
{
    MPI_Win win;
    MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

/* The rank after this one, in a ring. */
static inline int test_next(void)
{
    return (test_rank + 1) % test_size;
}

/* The rank before. */
static inline int test_previous(void)
{
    return (test_rank + test_size - 1) % test_size;
}

#endif
