/* Epochs on two windows are independent: locks on both at once, a fence or an exposure epoch on one
 * while the other is locked, both windows over the same memory. */
#include "test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(4 * sizeof *memory), other = test_next(), value, seen;
    MPI_Win a = window_over(memory, 2 * sizeof *memory, sizeof *memory);
    MPI_Win b = window_over(memory + 1, 3 * sizeof *memory, sizeof *memory);
    MPI_Group world, self;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &test_rank, &self);
    for (int round = 1; round <= 50; round++) {
        value = 10 * round + test_rank;
        /* Nested, and released in the other order. */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, a);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, b);
        MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, a);
        MPI_Put(&value, 1, MPI_INT, other, 2, 1, MPI_INT, b);
        MPI_Win_unlock(other, a);
        CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, a), MPI_ERR_RMA_SYNC);
        MPI_Put(&value, 1, MPI_INT, other, 1, 1, MPI_INT, b);
        MPI_Win_unlock(other, b);
        MPI_Barrier(MPI_COMM_WORLD);
        int expected = 10 * round + test_previous();
        CHECK(memory[0] == expected && memory[2] == expected && memory[3] == expected,
              "nested locks: %d, %d, %d", memory[0], memory[2], memory[3]);
        MPI_Barrier(MPI_COMM_WORLD);

        /* A fence on one window while all ranks lock the other. */
        MPI_Win_lock_all(0, a);
        CHECK(MPI_Win_fence(0, b) == MPI_SUCCESS);
        MPI_Put(&value, 1, MPI_INT, other, 1, 1, MPI_INT, b); /* memory[2] */
        MPI_Put(&round, 1, MPI_INT, other, 0, 1, MPI_INT, a); /* memory[0] */
        CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, b) == MPI_SUCCESS);
        CHECK(memory[2] == expected, "fence: %d", memory[2]);
        MPI_Get(&seen, 1, MPI_INT, other, 0, 1, MPI_INT, a);
        CHECK(MPI_Win_flush_all(a) == MPI_SUCCESS);
        CHECK(seen == round, "lock_all: %d", seen);

        /* An exposure epoch on one window while the other is locked. */
        MPI_Win_post(self, 0, b);
        MPI_Win_start(self, 0, b);
        MPI_Accumulate(&value, 1, MPI_INT, test_rank, 0, 1, MPI_INT, MPI_REPLACE, b);
        MPI_Win_complete(b);
        MPI_Win_wait(b);
        CHECK(memory[1] == value, "start: %d", memory[1]);
        MPI_Win_unlock_all(a);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* One window is freed while the other is locked. */
    MPI_Win_lock_all(0, a);
    MPI_Win_free(&b);
    MPI_Put(&other, 1, MPI_INT, other, 0, 1, MPI_INT, a);
    MPI_Win_unlock_all(a);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == test_rank, "%d", memory[0]);
    MPI_Group_free(&self);
    MPI_Group_free(&world);
    MPI_Win_free(&a);
    MPI_Free_mem(memory);
    return test_end();
}
