/* 1800 short collectives. With more ranks than processors, on several nodes, they end in bounded
 * time only if a rank that waits neither keeps the processor nor sleeps long: nobody wakes it for a
 * message from another node. */
#include "test.h"

enum { TIMES = 600 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int i = 0; i < TIMES; i++) {
        int value = test_rank == i % test_size ? i : -1, sum;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_INT, i % test_size, MPI_COMM_WORLD);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(value == i && sum == i * test_size, "round %d: %d, %d", i, value, sum);
    }
    return test_end();
}
