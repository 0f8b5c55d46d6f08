/* A rank is its own target, in every kind of epoch. */
#include "test.h"

static void all_calls(int base, MPI_Win win)
{
    int value = base, compare = base, swap = base + 1, one = 1, results[3] = {0};
    MPI_Put(&value, 1, MPI_INT, test_rank, 0, 1, MPI_INT, win);
    MPI_Accumulate(&one, 1, MPI_INT, test_rank, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &results[0], MPI_INT, test_rank, 2, MPI_SUM, win);
    MPI_Get_accumulate(&one, 1, MPI_INT, &results[1], 1, MPI_INT, test_rank, 3, 1, MPI_INT, MPI_SUM,
                       win);
    MPI_Compare_and_swap(&swap, &compare, &results[2], MPI_INT, test_rank, 4, win);
}

static void check(int rounds, int base, const int *memory)
{
    CHECK(memory[0] == base, "put: %d", memory[0]);
    for (int i = 1; i < 4; i++)
        CHECK(memory[i] == rounds, "element %d is %d after %d rounds", i, memory[i], rounds);
    CHECK(memory[4] == base + 1, "swapped: %d", memory[4]);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(5 * sizeof *memory);
    MPI_Win win = window_over(memory, 5 * sizeof *memory, sizeof *memory);
    MPI_Group self;
    MPI_Comm_group(MPI_COMM_SELF, &self);

    MPI_Win_fence(0, win);
    all_calls(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    check(1, 0, memory);

    MPI_Win_post(self, 0, win);
    MPI_Win_start(self, 0, win);
    all_calls(1, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    check(2, 1, memory);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win);
    all_calls(2, win);
    MPI_Win_unlock(test_rank, win);
    check(3, 2, memory);

    MPI_Win_lock_all(0, win);
    all_calls(3, win);
    MPI_Win_unlock_all(win);
    check(4, 3, memory);

    MPI_Group_free(&self);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
