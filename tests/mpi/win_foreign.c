/* One rank brings memory that no other process can access. The window works for all its ranks, for
 * every pair of origin and target, and accumulates stay atomic: accelerated and deferred operations
 * never mix on it. */
#include "test.h"

int main(int argc, char **argv)
{
    enum { COUNT = 100 };
    test_begin(&argc, &argv);
    long *memory = test_rank == test_size - 1 ? calloc(COUNT + 1, sizeof *memory)
                                              : window_memory((COUNT + 1) * sizeof *memory);
    MPI_Win win = window_over(memory, (COUNT + 1) * sizeof *memory, sizeof *memory);
    long values[COUNT], one = 1, before;
    for (int i = 0; i < COUNT; i++)
        values[i] = 1000 * test_rank + i;
    MPI_Win_fence(0, win);
    MPI_Put(values, COUNT, MPI_LONG, test_next(), 0, COUNT, MPI_LONG, win);
    MPI_Win_fence(0, win);
    for (int rank = 0; rank < test_size; rank++)
        MPI_Accumulate(&one, 1, MPI_LONG, rank, COUNT, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++)
        CHECK(memory[i] == 1000 * test_previous() + i, "element %d is %ld", i, memory[i]);
    CHECK(memory[COUNT] == test_size, "%ld of %d counted", memory[COUNT], test_size);
    MPI_Win_fence(0, win); /* no rank accumulates while others read */
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, test_next(), COUNT, MPI_SUM, win);
    MPI_Win_flush_all(win);
    MPI_Win_unlock_all(win);
    CHECK(before == test_size, "fetched %ld", before);
    MPI_Win_free(&win);
    test_rank == test_size - 1 ? free(memory) : (void)MPI_Free_mem(memory);
    return test_end();
}
