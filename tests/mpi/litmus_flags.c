/* Store buffering: two ranks each put a flag to the other, flush, and then read their own flag. The
 * flush completes the put before anything that follows, so at least one of them reads the other's
 * flag. Fails if the flush is not a full fence (H19: ordering). */
#include "test.h"

enum { ROUNDS = 10000, APART = 16 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int other = 1 - test_rank, blind = 0;
    int *memory = window_memory((size_t)ROUNDS * APART * sizeof *memory), seen, one = 1;
    int *missed = malloc(ROUNDS * sizeof *missed), *others = malloc(ROUNDS * sizeof *others);
    MPI_Win win = window_over(memory, (size_t)ROUNDS * APART * sizeof *memory, sizeof *memory);
    int64_t *turn = window_memory(sizeof *turn), count;
    MPI_Win turns = window_over(turn, sizeof *turn, sizeof *turn);
    MPI_Win_lock_all(0, win);
    MPI_Win_lock_all(0, turns);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int64_t i = 0; i < ROUNDS; i++) {
        /* Start both ranks at the same moment. */
        count = i + 1;
        MPI_Put(&count, 1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, turns);
        MPI_Win_flush(other, turns);
        while (*(volatile int64_t *)turn < i + 1)
            MPI_Win_sync(turns);
        for (volatile int wait = 0; wait < i % 32 * test_rank; wait++)
            ;
        MPI_Put(&one, 1, MPI_INT, other, i * APART, 1, MPI_INT, win);
        MPI_Win_flush(other, win);
        MPI_Get(&seen, 1, MPI_INT, test_rank, i * APART, 1, MPI_INT, win);
        MPI_Win_flush(test_rank, win);
        missed[i] = !seen;
    }
    MPI_Win_unlock_all(win);
    MPI_Win_unlock_all(turns);
    MPI_Sendrecv(missed, ROUNDS, MPI_INT, other, 0, others, ROUNDS, MPI_INT, other, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROUNDS; i++)
        blind += missed[i] && others[i];
    CHECK(!blind, "in %d rounds neither saw the other's flag", blind);
    MPI_Win_free(&win);
    MPI_Win_free(&turns);
    MPI_Free_mem(memory);
    MPI_Free_mem(turn);
    free(missed);
    free(others);
    return test_end();
}
