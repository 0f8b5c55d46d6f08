/* Message passing through window memory: a rank puts data, flushes, and puts a flag; a rank that
 * reads the flag, with MPI_Get or in its own memory with MPI_Win_sync, also reads the data. The
 * sizes reach from one element to those that are copied with non-temporal stores. Fails if the
 * flush does not order them (H19: ordering). */
#include "test.h"

static const size_t sizes[] = {1, 100, 4096, 300000, 1100000};
enum { LARGEST = 1100000, ROUNDS = 12 };

static int64_t *memory; /* flag, acknowledgement, then data */
static MPI_Win win;

static void await(int offset, int64_t value, bool by_sync)
{
    int64_t seen = 0;
    for (;;) {
        if (by_sync) {
            MPI_Win_sync(win);
            seen = *(volatile int64_t *)&memory[offset];
        } else {
            MPI_Get(&seen, 1, MPI_INT64_T, test_rank, offset, 1, MPI_INT64_T, win);
            MPI_Win_flush(test_rank, win);
        }
        if (seen >= value)
            break;
    }
    MPI_Win_sync(win);
}

static void put_flag(int rank, int offset, int64_t value)
{
    MPI_Put(&value, 1, MPI_INT64_T, rank, offset, 1, MPI_INT64_T, win);
    MPI_Win_flush(rank, win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    memory = window_memory((LARGEST + 2) * sizeof *memory);
    win = window_over(memory, (LARGEST + 2) * sizeof *memory, sizeof *memory);
    int64_t *data = malloc(LARGEST * sizeof *data), number = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int round = 0; round < (sizes[s] < 10000 ? 40 * ROUNDS : ROUNDS); round++) {
            number++;
            int count = (int)sizes[s];
            if (test_rank == 0) {
                for (int i = 0; i < count; i++)
                    data[i] = number;
                MPI_Put(data, count, MPI_INT64_T, 1, 2, count, MPI_INT64_T, win);
                MPI_Win_flush(1, win);
                put_flag(1, 0, number);
                await(1, number, true);
            } else if (test_rank == 1) {
                await(0, number, round % 2);
                int wrong = 0;
                for (int i = count - 1; i >= 0; i--)
                    wrong += memory[2 + i] != number;
                CHECK(!wrong, "message %ld: %d of %d are old", (long)number, wrong, count);
                put_flag(0, 1, number);
            }
        }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    free(data);
    return test_end();
}
