/* Groups name processes, not ranks: epochs with groups made from other communicators, on a window
 * that has its ranks in another order, or only some of the processes. Fails if a rank of one
 * communicator is used as a rank of the window. */
#include "test.h"

static void exchange(MPI_Comm comm, MPI_Group origins, MPI_Group targets, int target, int origin)
{
    int *memory = window_memory(sizeof *memory), size;
    MPI_Comm_size(comm, &size);
    MPI_Win win;
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, comm, &win);
    for (int value = 1; value <= 20; value++) {
        int mine = 100 * value + test_rank;
        MPI_Win_post(origins, 0, win);
        MPI_Win_start(targets, 0, win);
        MPI_Put(&mine, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(*memory == 100 * value + origin, "%d, expected %d", *memory, 100 * value + origin);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm reversed, half;
    MPI_Group world, origins, targets;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    int next = test_next(), previous = test_previous();
    MPI_Group_incl(world, 1, &previous, &origins);
    MPI_Group_incl(world, 1, &next, &targets);
    exchange(reversed, origins, targets, test_size - 1 - next, previous);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);

    /* The odd and the even ranks, each among themselves. */
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &half);
    int size, rank;
    MPI_Comm_size(half, &size);
    MPI_Comm_rank(half, &rank);
    next = (test_rank + 2) % test_size;
    previous = (test_rank + test_size - 2) % test_size;
    MPI_Group_incl(world, 1, &previous, &origins);
    MPI_Group_incl(world, 1, &next, &targets);
    /* Let one half follow the other: Open MPI 4.1.4 creates one file for the windows of both
     * halves, and fails. */
    for (int turn = 0; turn < 2; turn++) {
        if (test_rank % 2 == turn)
            exchange(half, origins, targets, (rank + 1) % size, previous);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /* A rank that is not in the window cannot be in its groups. */
    int *memory = window_memory(sizeof *memory);
    MPI_Win win;
    for (int turn = 0; turn < 2; turn++) {
        if (test_rank % 2 == turn)
            MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, half, &win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_post(world, 0, win), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Win_start(world, 0, win), MPI_ERR_GROUP);
    CHECK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win) == MPI_SUCCESS); /* no epoch was begun */
    CHECK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Group_free(&world);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&half);
    return test_end();
}
