/* Windows over blocks of the symmetric heap are accelerated, at whichever address the heap lies,
 * and access the memory that the OpenSHMEM calls access. So do collectives. */
#include "shmem_test.h"

enum { COUNT = 1000 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int next = (test_rank + 1) % test_size, last = (test_rank + test_size - 1) % test_size;
    long *block = shmem_calloc(COUNT, sizeof *block);
    MPI_Win win = window_over(block, COUNT * sizeof *block, sizeof *block);
    /* one in the middle of a block, with another displacement unit */
    MPI_Win inner = window_over(block + 10, 100 * sizeof *block, 1);

    long value = test_rank + 1, found = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, next, 5, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(block[5] == last + 1);
    CHECK(shmem_long_g(&block[5], next) == test_rank + 1);

    MPI_Win_lock_all(0, inner);
    shmem_long_p(&block[12], 1000 + test_rank, next);
    shmem_quiet();
    MPI_Get(&found, 1, MPI_LONG, next, 2 * sizeof found, 1, MPI_LONG, inner);
    MPI_Win_flush_all(inner);
    CHECK(found == 1000 + test_rank, "%ld", found);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++) {
        long one = 1;
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 10 * sizeof one, 1, MPI_LONG, MPI_SUM, inner);
    }
    MPI_Win_unlock_all(inner);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(shmem_long_g(&block[20], 0) == 100 * test_size);

    MPI_Win_free(&inner);
    MPI_Win_free(&win);

    enum { LONG = 200000 }; /* too long to be copied through a buffer */
    int *from = shmem_malloc(LONG * sizeof *from), *to = shmem_malloc(LONG * sizeof *to);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LONG; i++)
            from[i] = test_rank * 3 + i + round;
        MPI_Allreduce(from, to, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < LONG; i += 777)
            CHECK(to[i] == 3 * test_size * (test_size - 1) / 2 + test_size * (i + round), "%d", i);
        MPI_Bcast(from, LONG, MPI_INT, round % test_size, MPI_COMM_WORLD);
        for (int i = 0; i < LONG; i += 777)
            CHECK(from[i] == round % test_size * 3 + i + round, "%d", i);
    }
    shmem_free(to);
    shmem_free(from);
    shmem_free(block);
    return test_end();
}
