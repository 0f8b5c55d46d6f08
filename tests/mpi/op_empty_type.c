/* Accumulates of no elements, or with a datatype without data, do nothing, whatever the operation,
 * and whether or not the datatypes are equal: all empty type signatures are. */
#include "test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    long *memory = window_memory(4 * sizeof *memory), value = 7, result = 8;
    MPI_Win win = window_over(memory, 4 * sizeof *memory, sizeof *memory);
    MPI_Datatype contiguous, indexed;
    MPI_Type_contiguous(0, MPI_LONG, &contiguous);
    MPI_Type_commit(&contiguous);
    MPI_Type_create_hindexed(0, NULL, NULL, MPI_LONG, &indexed);
    MPI_Type_commit(&indexed);
    MPI_Datatype empty[] = {contiguous, indexed};
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
    MPI_Win_fence(0, win);
    for (int t = 0; t < 2; t++)
        for (int o = 0; o < 5; o++)
            for (int count = 0; count < 3; count++) {
                if (ops[o] != MPI_NO_OP)
                    CHECK(!MPI_Accumulate(&value, count, empty[t], test_next(), 1, count, empty[t],
                                          ops[o], win));
                CHECK(!MPI_Get_accumulate(&value, 0, MPI_LONG, &result, 0, MPI_LONG, test_next(), 1,
                                          count, empty[t], ops[o], win));
                CHECK(!MPI_Get_accumulate(&value, count, empty[t], &result, count, empty[t],
                                          test_next(), 1, count, empty[t], ops[o], win));
            }
    CHECK(!MPI_Accumulate(&value, 0, MPI_INT, test_next(), 1, 0, MPI_DOUBLE, MPI_SUM, win));
    CHECK(!MPI_Accumulate(&value, 2, contiguous, test_next(), 1, 0, MPI_DOUBLE, MPI_SUM, win));
    CHECK(!MPI_Get_accumulate(&value, 0, MPI_INT, &result, 0, MPI_LONG, test_next(), 1, 0,
                              MPI_DOUBLE, MPI_SUM, win));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(result == 8, "%ld", result);
    for (int i = 0; i < 4; i++)
        CHECK(memory[i] == 0, "element %d is %ld", i, memory[i]);
    MPI_Type_free(&contiguous);
    MPI_Type_free(&indexed);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
