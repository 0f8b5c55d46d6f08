/* After any kind of flush the origin's buffer may be reused and the result of a get is available.
 * After MPI_Win_flush and flush_all the target's memory holds the data, as seen by a third rank
 * too. MPI_Win_sync makes remote puts visible to the owner, and the owner's stores visible to
 * others. */
#include "test.h"

enum { ROUNDS = 60, COUNT = 2000 };

static int *memory, values[COUNT], back[COUNT];
static MPI_Win win;

static void fill(int value)
{
    for (int i = 0; i < COUNT; i++)
        values[i] = value + i;
}

/* The target holds the value from before the buffer changed. */
static void through(int kind, int target, int value)
{
    fill(value);
    MPI_Put(values, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, win);
    if (kind == 0)
        MPI_Win_flush_local(target, win);
    else if (kind == 1)
        MPI_Win_flush_local_all(win);
    else if (kind == 2)
        MPI_Win_flush(target, win);
    else
        MPI_Win_flush_all(win);
    memset(values, 0x55, sizeof values);
    if (kind < 2)
        MPI_Win_flush(target, win);
    memset(back, 0, sizeof back);
    MPI_Get(back, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, win);
    if (kind % 2)
        MPI_Win_flush_local_all(win);
    else
        MPI_Win_flush_local(target, win);
    for (int i = 0; i < COUNT; i += 37)
        CHECK(back[i] == value + i, "kind %d, element %d: %d", kind, i, back[i]);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    memory = window_memory(COUNT * sizeof *memory);
    win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
    int last = test_size - 1, token = 0;
    MPI_Win_lock_all(0, win);
    for (int round = 1; round <= ROUNDS; round++) {
        if (test_rank == 0) {
            through(round % 4, 1, 1000 * round);
            MPI_Send(&round, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (test_rank == last) {
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Get(back, COUNT, MPI_INT, 1, 0, COUNT, MPI_INT, win);
            MPI_Win_flush(1, win);
            CHECK(back[0] == 1000 * round && back[COUNT - 1] == 1000 * round + COUNT - 1,
                  "a third rank: %d, %d", back[0], back[COUNT - 1]);
            if (last == 1) {
                MPI_Win_sync(win);
                CHECK(memory[7] == 1000 * round + 7, "at home: %d", memory[7]);
                memory[7] = round; /* now the owner stores */
                MPI_Win_sync(win);
            }
            MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
        if (test_rank == 0 && last == 1) {
            MPI_Get(back, 1, MPI_INT, 1, 7, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
            CHECK(back[0] == round, "stored by the target: %d", back[0]);
        }
    }
    MPI_Win_unlock_all(win);

    /* Each flush with a lock on one target, and with MPI_PROC_NULL as target. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int kind = 0; kind < 4; kind++) {
        int target = test_next();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        through(kind, target, 77 * kind);
        CHECK(MPI_Win_flush(MPI_PROC_NULL, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush_local(MPI_PROC_NULL, win) == MPI_SUCCESS);
        MPI_Win_unlock(target, win);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
