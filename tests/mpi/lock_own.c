/* A lock on the rank's own memory is held when the call returns, for every lock type, because it
 * also protects loads and stores, which MPI cannot intercept (MPI-4.0, 12.5.3). Fails if the lock
 * is acquired lazily at the first operation. */
#include "test.h"

#include <unistd.h>

enum kind { SHARED, ALL, EXCLUSIVE, KINDS };
static const char *const names[] = {"shared", "all", "exclusive"};

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    volatile int *memory = window_memory(2 * sizeof *memory);
    MPI_Win win = window_over((int *)memory, 2 * sizeof *memory, sizeof *memory);
    for (int kind = 0; kind < KINDS; kind++) {
        int value = kind + 1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            usleep(60000);
            MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            MPI_Win_unlock(1, win);
        } else if (test_rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (kind == ALL)
                MPI_Win_lock_all(0, win);
            else
                MPI_Win_lock(kind == SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, win);
            CHECK(memory[0] == value && memory[1] == value, "%s: %d, %d of %d", names[kind],
                  memory[0], memory[1], value);
            if (kind == ALL)
                MPI_Win_unlock_all(win);
            else
                MPI_Win_unlock(1, win);
        }
    }
    MPI_Win_free(&win);
    MPI_Free_mem((int *)memory);
    return test_end();
}
