/* Windows count as collective calls: after a few, their communicator has a team, and its first
 * collective call is accelerated. With the argument `malloc` the windows are left to the host. */
#include "test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    bool private = argc > 1 && !strcmp(argv[1], "malloc");
    int *memory = private ? malloc(sizeof *memory) : window_memory(sizeof *memory);
    int size, one = 1, sum;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++) {
        MPI_Win win;
        MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_free(&win);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "%d", sum);
    if (private)
        free(memory);
    else
        MPI_Free_mem(memory);
    return test_end();
}
