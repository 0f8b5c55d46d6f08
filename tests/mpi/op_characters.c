/* MPI_CHAR, for which MPI defines no arithmetic: accumulates and reductions give the same result as
 * the host's MPI_Reduce_local, for each operation. */
#include "test.h"

enum { COUNT = 100 };

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    const MPI_Op ops[] = {MPI_MAX,  MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND,
                          MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR};
    signed char *memory = window_memory(COUNT), here[COUNT], back[COUNT], expected[COUNT],
                sum[COUNT];
    MPI_Win win = window_over(memory, COUNT, 1);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int count = 1; count <= COUNT; count += count < 8 ? 1 : 23) {
            MPI_Win_fence(0, win);
            for (int i = 0; i < count; i++) {
                memory[i] = expected[i] = (signed char)(i % 21 - 10);
                here[i] = (signed char)(i % 13 - 6);
            }
            MPI_Reduce_local(here, expected, count, MPI_CHAR, ops[o]);
            MPI_Win_fence(0, win);
            MPI_Get_accumulate(here, count, MPI_CHAR, back, count, MPI_CHAR, test_next(), 0, count,
                               MPI_CHAR, ops[o], win);
            MPI_Win_fence(0, win);
            for (int i = 0; i < count; i++)
                CHECK(memory[i] == expected[i] && back[i] == i % 21 - 10,
                      "operation %zu of %d: element %d is %d, was %d", o, count, i, memory[i],
                      back[i]);
            for (int i = 0; i < count; i++) /* the same two operands, one on each rank */
                here[i] = (signed char)(test_rank == test_size - 1 ? i % 21 - 10 : i % 13 - 6);
            MPI_Allreduce(here, sum, count, MPI_CHAR, ops[o], MPI_COMM_WORLD);
            CHECK(test_size != 2 || !memcmp(sum, expected, (size_t)count), "reduction %zu", o);
        }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
