/* While all ranks combine single elements, one of them begins with many at a time; in window after
 * window, since only the first such operation is special: no update is lost (H18). */
#include "test.h"

enum { COUNT = 32, WINDOWS = 60, ROUNDS = 300 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int ones[COUNT], one = 1, before;
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (int w = 0; w < WINDOWS; w++) {
        int *memory = window_memory(COUNT * sizeof *memory);
        MPI_Win win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
        int first = w % test_size, when = w * 7 % ROUNDS, bulk = 0;
        MPI_Win_fence(0, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Fetch_and_op(&one, &before, MPI_INT, 0, i % 2, MPI_SUM, win);
            if (test_rank == first && i >= when && i % 10 == 0) {
                MPI_Accumulate(ones, COUNT, MPI_INT, 0, 0, COUNT, MPI_INT, MPI_SUM, win);
                bulk++;
            }
        }
        MPI_Win_unlock_all(win);
        MPI_Bcast(&bulk, 1, MPI_INT, first, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        int expected = ROUNDS / 2 * test_size + bulk;
        if (test_rank == 0)
            CHECK(memory[0] == expected && memory[1] == expected && memory[2] == bulk,
                  "window %d: %d and %d of %d, %d of %d", w, memory[0], memory[1], expected,
                  memory[2], bulk);
        MPI_Win_free(&win);
        MPI_Free_mem(memory);
    }
    return test_end();
}
