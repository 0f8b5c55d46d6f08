/* MPI_Win_free waits for all ranks; afterwards the results of all operations are in the window's
 * memory. The memory may be freed, and reused for another window, at once. */
#include "test.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    enum { COUNT = 1000, LATE_US = 300000 };
    test_begin(&argc, &argv);
    int late = test_size - 1, values[COUNT];
    int *memory = window_memory(COUNT * sizeof *memory);
    MPI_Win win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (test_rank == late) {
        usleep(LATE_US);
        for (int i = 0; i < COUNT; i++)
            values[i] = i;
        MPI_Win_lock_all(0, win);
        for (int rank = 0; rank < test_size; rank++)
            MPI_Put(values, COUNT, MPI_INT, rank, 0, COUNT, MPI_INT, win);
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    CHECK(MPI_Wtime() - start > LATE_US * 0.9e-6, "%f s", MPI_Wtime() - start);
    for (int i = 0; i < COUNT; i++)
        CHECK(memory[i] == i, "element %d is %d", i, memory[i]);
    CHECK(win == MPI_WIN_NULL);
    MPI_Free_mem(memory);
    for (int i = 0; i < 50; i++) { /* no rank still uses what rank 0 frees */
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_lock_all(0, win);
        MPI_Put(&i, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    return test_end();
}
