/* A window of 6 GiB, of which very little is touched. Accesses bytes at offsets that do not fit in
 * an int, by displacements, displacement units and holes of a datatype (H32: large counts). */
#include "test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    const MPI_Aint gib = (MPI_Aint)1 << 30;
    char *memory = NULL, values[4] = {1, 2, 3, 4}, back[4] = {0};
    MPI_Alloc_mem(6 * gib, MPI_INFO_NULL, &memory);
    MPI_Win win = window_over(memory, (size_t)(6 * gib), 1),
            by_unit = window_over(memory, (size_t)(6 * gib), 1 << 30);
    MPI_Datatype far_apart;
    MPI_Type_create_hvector(2, 1, 5 * gib, MPI_CHAR, &far_apart);
    MPI_Type_commit(&far_apart);
    MPI_Win_fence(0, win);
    MPI_Put(&values[0], 1, MPI_CHAR, test_next(), 6 * gib - 1, 1, MPI_CHAR, win);
    MPI_Put(&values[1], 2, MPI_CHAR, test_next(), 10, 1, far_apart, win);
    MPI_Win_fence(0, win);
    CHECK(memory[6 * gib - 1] == 1 && memory[10] == 2 && memory[5 * gib + 10] == 3);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_fence(0, by_unit);
    MPI_Put(&values[3], 1, MPI_CHAR, test_next(), 4, 1, MPI_CHAR, by_unit);
    MPI_Win_fence(0, by_unit);
    CHECK(memory[4 * gib] == 4, "%d", memory[4 * gib]);
    MPI_Get(back, 2, MPI_CHAR, test_next(), 0, 1, far_apart, by_unit);
    MPI_Get(back + 2, 1, MPI_CHAR, test_next(), 5, 1, MPI_CHAR, by_unit);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, by_unit);
    CHECK(!back[0] && !back[1] && !back[2]);
    MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win);
    CHECK_CLASS(MPI_Put(values, 1, MPI_CHAR, test_next(), 6 * gib, 1, MPI_CHAR, win),
                MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Put(values, 2, MPI_CHAR, test_next(), gib, 1, far_apart, win),
                MPI_ERR_RMA_RANGE);
    MPI_Win_unlock(test_next(), win);
    MPI_Type_free(&far_apart);
    MPI_Win_free(&win);
    MPI_Win_free(&by_unit);
    MPI_Free_mem(memory);
    return test_end();
}
