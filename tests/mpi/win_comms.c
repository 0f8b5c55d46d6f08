/* Windows on communicators other than MPI_COMM_WORLD: duplicates, reversed order, subsets, and
 * handles that the host uses again for another order. Fails if a target rank is not taken as a rank
 * in the window's group, or if the ranks of a freed communicator are used. */
#include "test.h"

static void ring(MPI_Comm comm, int mark)
{
    int rank, size, world, *memory = window_memory(2 * sizeof *memory);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Win win;
    MPI_Win_create(memory, 2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    int values[] = {mark, test_rank};
    MPI_Put(values, 2, MPI_INT, (rank + 1) % size, 0, 2, MPI_INT, win);
    MPI_Win_fence(0, win);
    int before = (rank + size - 1) % size;
    MPI_Group group, all;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(group, 1, &before, all, &world);
    CHECK(memory[0] == mark && memory[1] == world, "%d: %d from %d, expected %d", mark, memory[0],
          memory[1], world);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

static void reuse_handles(void)
{
    for (int round = 0; round < 6; round++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? -test_rank : test_rank, &comm);
        for (int times = 0; times < 3; times++)
            ring(comm, 10 + round);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm dup, reversed, half, dup_of_half;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, 0, test_size - test_rank, &reversed);
    MPI_Comm_split(reversed, test_rank < test_size / 2, 0, &half);
    MPI_Comm_dup(half, &dup_of_half);
    ring(dup, 1);
    ring(reversed, 2);
    /* Let one half follow the other: Open MPI 4.1 uses the same file for two windows that are
     * created at the same time on disjoint communicators, by their common context id, and
     * crashes. */
    for (int turn = 0; turn < 2; turn++) {
        if (turn == (test_rank < test_size / 2)) {
            ring(half, 3);
            ring(dup_of_half, 4);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&dup);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup_of_half);
    reuse_handles();
    return test_end();
}
