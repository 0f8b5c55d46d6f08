/* An origin may run ahead: it has completed its epoch at one target and starts the next at another
 * target, while the first target still waits for a slow origin. A rank may be origin and target of
 * overlapping epochs (MPI-4.0, 12.5.2). */
#include "test.h"

#include <unistd.h>

enum { EPOCHS = 60 };

static MPI_Group world, single[64];
static MPI_Win win;
static int *memory;

/* Ranks pass a number around the ring. Each rank is exposed to the previous rank while it accesses
 * the next one; rank 0 enters each epoch late. */
static void ring(void)
{
    for (int e = 1; e <= EPOCHS; e++) {
        int value = 1000 * e + test_rank;
        MPI_Win_post(single[test_previous()], 0, win);
        if (test_rank == 0)
            usleep(300);
        MPI_Win_start(single[test_next()], 0, win);
        MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(memory[0] == 1000 * e + test_previous(), "epoch %d: %d", e, memory[0]);
    }
}

/* Rank 1 accesses ranks 0 and 2 without waiting; rank 0 also waits for the slow rank 2. */
static void visits(void)
{
    MPI_Group both;
    MPI_Group_incl(world, 2, (int[]){1, 2}, &both);
    for (int e = 1; e <= EPOCHS; e++) {
        if (test_rank == 0) {
            MPI_Win_post(both, 0, win);
            MPI_Win_wait(win);
            CHECK(memory[1] == e && memory[2] == e, "epoch %d: %d, %d", e, memory[1], memory[2]);
        } else if (test_rank == 1) {
            for (int target = 0; target <= 2; target += 2) {
                MPI_Win_start(single[target], 0, win);
                MPI_Put(&e, 1, MPI_INT, target, 1, 1, MPI_INT, win);
                MPI_Win_complete(win);
            }
        } else if (test_rank == 2) {
            /* Rank 2 accesses rank 0 only after rank 1 was here. */
            MPI_Win_post(single[1], 0, win);
            MPI_Win_wait(win);
            CHECK(memory[1] == e, "epoch %d: %d", e, memory[1]);
            if (e % 8 == 0)
                usleep(1000);
            MPI_Win_start(single[0], 0, win);
            MPI_Put(&e, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&both);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int rank = 0; rank < test_size; rank++)
        MPI_Group_incl(world, 1, &rank, &single[rank]);
    memory = window_memory(3 * sizeof *memory);
    win = window_over(memory, 3 * sizeof *memory, sizeof *memory);
    ring();
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_size >= 3)
        visits();
    for (int rank = 0; rank < test_size; rank++)
        MPI_Group_free(&single[rank]);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
