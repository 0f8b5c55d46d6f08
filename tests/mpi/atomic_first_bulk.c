/* While all ranks accumulate a few elements at a time, one rank starts to accumulate many. Only the
 * first such operation on a target switches the target from element mode to bulk mode, so the test
 * repeats this for many targets and windows. An update is lost if the switch is not ordered with
 * the native atomics (H18: atomicity of accumulates). */
#include "test.h"

enum { COUNT = 32, FEW = 8, WINDOWS = 20, ROUNDS = 400 };

static int ones[COUNT];
static MPI_Win win;

/* All ranks start at once, so that their operations overlap. */
static void meet(int times)
{
    int one = 1, here = 0, before;
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, COUNT, MPI_SUM, win);
    while (here < times * test_size) {
        MPI_Fetch_and_op(NULL, &here, MPI_INT, 0, COUNT, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
    }
}

/* Returns how many bulk operations this rank has performed. */
static int combine(int target, bool begins, int when)
{
    int bulk = 0, before;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Accumulate(ones, FEW, MPI_INT, target, 0, FEW, MPI_INT, MPI_SUM, win);
        MPI_Fetch_and_op(ones, &before, MPI_INT, target, i % 2, MPI_SUM, win);
        if (begins && i >= when) {
            MPI_Accumulate(ones, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, MPI_SUM, win);
            bulk++;
        }
    }
    MPI_Win_flush_all(win);
    return bulk;
}

static void check(const int *memory, int bulk)
{
    for (int i = 0; i < COUNT; i++) {
        int each = (i < 2 ? ROUNDS / 2 : 0) + (i < FEW ? ROUNDS : 0);
        CHECK(memory[i] == each * test_size + bulk, "element %d: %d, expected %d", i, memory[i],
              each * test_size + bulk);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (int w = 0; w < WINDOWS; w++) {
        int *memory = window_memory((COUNT + 1) * sizeof *memory), bulk[2] = {0};
        win = window_over(memory, (COUNT + 1) * sizeof *memory, sizeof *memory);
        MPI_Win_fence(0, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Win_lock_all(0, win);
        for (int target = 0; target < 2; target++) {
            int first = (w + target) % test_size;
            meet(target + 1);
            bulk[target] = combine(target, test_rank == first, (w * 7 + 10) % 50);
            MPI_Bcast(&bulk[target], 1, MPI_INT, first, MPI_COMM_WORLD);
        }
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank < 2)
            check(memory, bulk[test_rank]);
        MPI_Win_free(&win);
        MPI_Free_mem(memory);
    }
    return test_end();
}
