/* An exclusive lock excludes all others; shared locks and lock_all share, from any origin.
 * Exclusive holders change two numbers with plain gets and puts: other ranks always read equal
 * numbers, and no change is lost. */
#include "test.h"

enum { ROUNDS = 300 };

static MPI_Win win;
static int changes;

static void add_one(int target)
{
    int numbers[2];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(numbers, 2, MPI_INT, target, 0, 2, MPI_INT, win);
    MPI_Win_flush(target, win);
    CHECK(numbers[0] == numbers[1], "exclusive: %d, %d", numbers[0], numbers[1]);
    numbers[0]++;
    MPI_Put(&numbers[0], 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    for (volatile int wait = 0; wait < 200; wait++)
        ;
    numbers[1]++;
    MPI_Put(&numbers[1], 1, MPI_INT, target, 1, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
    changes++;
}

static void look(int target, bool all)
{
    int first, second;
    if (all)
        MPI_Win_lock_all(0, win);
    else
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(&first, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    MPI_Get(&second, 1, MPI_INT, target, 1, 1, MPI_INT, win);
    if (all)
        MPI_Win_unlock_all(win);
    else
        MPI_Win_unlock(target, win);
    CHECK(first == second, "%s: %d, %d", all ? "lock_all" : "shared", first, second);
}

/* Several targets at once, in rank order. Not together with lock_all, which guarantees no order. */
static void add_to_all(void)
{
    int values[64];
    for (int rank = 0; rank < test_size; rank++)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int rank = 0; rank < test_size; rank++)
        MPI_Get(&values[rank], 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    for (int rank = 0; rank < test_size; rank++) {
        MPI_Win_flush(rank, win);
        values[rank]++;
        MPI_Put(&values[rank], 1, MPI_INT, rank, 0, 1, MPI_INT, win);
        MPI_Put(&values[rank], 1, MPI_INT, rank, 1, 1, MPI_INT, win);
    }
    for (int rank = test_size - 1; rank >= 0; rank--)
        MPI_Win_unlock(rank, win);
    changes += test_size;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(2 * sizeof *memory), all = 0, sum = 0;
    win = window_over(memory, 2 * sizeof *memory, sizeof *memory);
    srand((unsigned)test_rank);
    for (int i = 0; i < ROUNDS; i++) {
        bool nested = i >= ROUNDS / 2;
        int what = rand() % 8, target = rand() % 4 ? 0 : rand() % test_size;
        if (i == ROUNDS / 2)
            MPI_Barrier(MPI_COMM_WORLD);
        if (what < 3)
            add_one(target);
        else if (what < 6 || nested)
            look(target, !nested && what == 5);
        if (what >= 6 && nested)
            add_to_all();
        else if (what >= 6)
            look(target, true);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, MPI_MODE_NOCHECK, win);
    MPI_Win_sync(win);
    CHECK(memory[0] == memory[1]);
    MPI_Allreduce(&changes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(memory, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_unlock(test_rank, win);
    CHECK(sum == all, "%d changes arrived of %d", sum, all);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
