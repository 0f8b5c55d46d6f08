/* Helpers of the MPI tests. A test is one program that exits with 0 if all its CHECKs hold on all
 * ranks. It does not depend on the library; tests/run checks which calls were accelerated. */
#ifndef TEST_H
#define TEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_STATUSES_IGNORE is not an array of statuses, although the parameter is declared as one. */
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

/* The error class of a returned error code. */
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

/* At run time, because a program of the standard ABI runs on any host. */
static inline bool host_is(const char *name)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strstr(version, name);
}

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

/* Zeroed window memory from MPI_Alloc_mem. */
static inline void *window_memory(size_t bytes)
{
    void *memory;
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
    memset(memory, 0, bytes);
    return memory;
}

/* A window of all ranks over this memory, with MPI_ERRORS_RETURN. */
static inline MPI_Win window_over(void *memory, size_t bytes, int unit)
{
    MPI_Win win;
    MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

/* The next rank, in a ring. */
static inline int test_next(void)
{
    return (test_rank + 1) % test_size;
}

/* The previous rank. */
static inline int test_previous(void)
{
    return (test_rank + test_size - 1) % test_size;
}

#endif
