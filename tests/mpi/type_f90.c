/* Datatypes of MPI_Type_create_f90_real and its siblings, which are unnamed predefined datatypes:
 * combined as the type that they stand for, and as elements of derived datatypes, repeatedly. */
#include "test.h"

int main(int argc, char **argv)
{
    enum { COUNT = 12 };
    test_begin(&argc, &argv);
    double *memory = window_memory(2 * COUNT * sizeof *memory), values[COUNT], back[COUNT];
    MPI_Win win = window_over(memory, 2 * COUNT * sizeof *memory, sizeof *memory);
    MPI_Datatype real, integer, complex_type, every_other, pairs;
    MPI_Type_create_f90_real(15, 307, &real);
    MPI_Type_create_f90_integer(18, &integer);
    MPI_Type_create_f90_complex(15, 307, &complex_type);
    int size;
    MPI_Type_size(real, &size);
    CHECK(size == 8, "%d", size);
    for (int i = 0; i < COUNT; i++)
        values[i] = i + 0.5;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win);
    for (int round = 1; round < 20; round++) {
        MPI_Type_vector(COUNT, 1, 2, real, &every_other);
        MPI_Type_contiguous(COUNT / 2, complex_type, &pairs);
        MPI_Type_commit(&every_other);
        MPI_Type_commit(&pairs);
        MPI_Accumulate(values, COUNT, real, test_rank, 0, 1, every_other, MPI_SUM, win);
        MPI_Win_flush(test_rank, win);
        MPI_Get(back, COUNT, real, test_rank, 0, 1, every_other, win);
        MPI_Win_flush(test_rank, win);
        for (int i = 0; i < COUNT; i++)
            CHECK(back[i] == round * values[i] && memory[2 * i + 1] == 0, "round %d: %d is %f",
                  round, i, back[i]);
        MPI_Type_free(&every_other);
        MPI_Type_free(&pairs);
    }
    int64_t number = 7, before = 0;
    memset(memory, 0, COUNT * sizeof *memory);
    MPI_Fetch_and_op(&number, &before, integer, test_rank, 0, MPI_SUM, win);
    MPI_Win_flush(test_rank, win);
    MPI_Fetch_and_op(&number, &before, integer, test_rank, 0, MPI_SUM, win);
    MPI_Win_flush(test_rank, win);
    CHECK(before == 7 && *(int64_t *)memory == 14, "%ld", (long)before);
    double ones[] = {1, 2};
    memset(memory, 0, COUNT * sizeof *memory);
    MPI_Accumulate(ones, 1, complex_type, test_rank, 1, 1, complex_type, MPI_SUM, win);
    MPI_Accumulate(ones, 1, complex_type, test_rank, 1, 1, complex_type, MPI_SUM, win);
    MPI_Win_unlock(test_rank, win);
    CHECK(memory[1] == 2 && memory[2] == 4, "%f, %f", memory[1], memory[2]);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
