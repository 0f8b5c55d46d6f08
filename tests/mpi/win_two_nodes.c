/* Ranks on two nodes (MPIACCEL_NODE_SIZE in the testlist splits the world): a window of all ranks
 * works through the host, and a window of one node's ranks is accelerated. */
#include "test.h"

static void use(MPI_Comm comm, int rank, int size)
{
    int *memory = window_memory(sizeof *memory), one = 1;
    MPI_Win win;
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < size; i++)
        MPI_Accumulate(&one, 1, MPI_INT, (rank + i) % size, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == size, "%d of %d", *memory, size);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < test_size / 2, 0, &half);
    use(MPI_COMM_WORLD, test_rank, test_size);
    for (int turn = 0; turn < 2; turn++) { /* see win_comms.c */
        if (turn == (test_rank < test_size / 2))
            use(half, test_rank % (test_size / 2), test_size / 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&half);
    return test_end();
}
