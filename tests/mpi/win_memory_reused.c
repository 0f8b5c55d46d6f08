/* Memory of one window is reused for the next: other sizes, other owners, other parts, freed and
 * allocated again in between, and for MPI_Win_allocate while peers are still leaving the old window
 * (H24: stale handles and mappings). A peer always accesses the current memory, and never beyond
 * it. */
#include "test.h"

enum { ROUNDS = 40, SMALL = 16, LARGE = 40000 };

static void check_window(int *memory, int count, int round)
{
    MPI_Win win = window_over(memory, (size_t)count * sizeof *memory, sizeof *memory);
    int counts[64], value = 1000 * round + test_rank, target = test_next(), seen = -1;
    MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Put(&value, 1, MPI_INT, target, counts[target] - 1, 1, MPI_INT, win);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, target, counts[target], 1, MPI_INT, win),
                MPI_ERR_RMA_RANGE);
    MPI_Win_fence(0, win);
    int expected = 1000 * round + test_previous();
    CHECK(memory[0] == expected && memory[count - 1] == expected, "%d, %d, expected %d", memory[0],
          memory[count - 1], expected);
    memory[0] = -value;
    MPI_Win_fence(0, win);
    MPI_Get(&seen, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(seen == -(1000 * round + target), "got %d", seen);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int round = 1; round <= ROUNDS; round++) {
        /* In each round another rank has the large memory. */
        int count = round % test_size == test_rank ? LARGE : SMALL;
        int *memory = window_memory((size_t)count * sizeof *memory);
        check_window(memory, count, round);
        check_window(memory + 3, count - 7, round);
        MPI_Free_mem(memory); /* peers may still be leaving MPI_Win_free */
        MPI_Win win;
        MPI_Win_allocate(count * (int)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                         &memory, &win);
        memory[count - 1] = round;
        MPI_Win_lock_all(0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        int seen = -1, last = round % test_size == test_next() ? LARGE : SMALL;
        MPI_Get(&seen, 1, MPI_INT, test_next(), last - 1, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
        CHECK(seen == round, "round %d: got %d", round, seen);
        MPI_Win_free(&win);
    }
    return test_end();
}
