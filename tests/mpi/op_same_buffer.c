/* The result of an operation goes into the buffer of its operand. MPI does not allow that, but
 * hosts compute the natural result, in every kind of epoch. */
#include "test.h"

enum { COUNT = 100, START = 100 };

static void fetch_into_operands(int64_t *memory, int target, MPI_Win win)
{
    int64_t added = 5, stored = 9, swapped = 1, operands[COUNT], zero = START;
    for (int i = 0; i < COUNT; i++)
        operands[i] = i;
    MPI_Fetch_and_op(&added, &added, MPI_INT64_T, target, 0, MPI_SUM, win);
    MPI_Fetch_and_op(&stored, &stored, MPI_INT64_T, target, 1, MPI_REPLACE, win);
    MPI_Compare_and_swap(&swapped, &zero, &swapped, MPI_INT64_T, target, 2, win);
    MPI_Get_accumulate(operands, COUNT, MPI_INT64_T, operands, COUNT, MPI_INT64_T, target, 3, COUNT,
                       MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(target, win);
    CHECK(added == START && stored == START && swapped == START, "fetched %ld, %ld, %ld",
          (long)added, (long)stored, (long)swapped);
    CHECK(memory[0] == START + 5 && memory[1] == 9 && memory[2] == 1, "stored %ld, %ld, %ld",
          (long)memory[0], (long)memory[1], (long)memory[2]);
    for (int i = 0; i < COUNT; i++)
        CHECK(operands[i] == START && memory[3 + i] == START + i,
              "element %d: fetched %ld, stored %ld", i, (long)operands[i], (long)memory[3 + i]);
    for (int i = 0; i < COUNT + 3; i++)
        memory[i] = START;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int64_t *memory = window_memory((COUNT + 3) * sizeof *memory);
    for (int i = 0; i < COUNT + 3; i++)
        memory[i] = START;
    MPI_Win win = window_over(memory, (COUNT + 3) * sizeof *memory, sizeof *memory);
    MPI_Win_lock_all(0, win);
    fetch_into_operands(memory, test_rank, win);
    fetch_into_operands(memory, test_rank, win); /* now the target is in bulk mode */
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win);
    fetch_into_operands(memory, test_rank, win);
    MPI_Win_unlock(test_rank, win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
