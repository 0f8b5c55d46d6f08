/* Operations of one origin on one element take effect in the order of the calls, without a flush in
 * between and whatever their sizes (H19: ordering). Fails if small and large operations take paths
 * that are not ordered with each other. */
#include "test.h"

enum { COUNT = 40, ROUNDS = 800 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(2 * COUNT * sizeof *memory);
    MPI_Win win = window_over(memory, 2 * COUNT * sizeof *memory, sizeof *memory);
    int target = test_next(), values[COUNT], back[COUNT], one, before, ten = 10;
    MPI_Win_lock_all(0, win);
    for (int i = 1; i <= ROUNDS; i++) {
        for (int e = 0; e < COUNT; e++)
            values[e] = i;
        one = i;
        /* Replace, add, read, in small and large operations, in both orders. */
        MPI_Accumulate(values, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, MPI_REPLACE, win);
        MPI_Fetch_and_op(&ten, &before, MPI_INT, target, 7, MPI_SUM, win);
        MPI_Get_accumulate(NULL, 0, MPI_INT, back, COUNT, MPI_INT, target, 0, COUNT, MPI_INT,
                           MPI_NO_OP, win);
        MPI_Win_flush_local(target, win);
        CHECK(before == i && back[7] == i + 10 && back[8] == i, "round %d: %d, %d, %d", i, before,
              back[7], back[8]);
        /* Single elements, in memory that only sees single elements. */
        MPI_Accumulate(&one, 1, MPI_INT, target, COUNT, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Accumulate(&ten, 1, MPI_INT, target, COUNT, 1, MPI_INT, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &before, MPI_INT, target, COUNT, MPI_REPLACE, win);
        MPI_Win_flush_local(target, win);
        CHECK(before == i + 10, "round %d: %d", i, before);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
