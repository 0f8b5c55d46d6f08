/* The `_c` calls behave as their int versions, and accept counts that do not fit in an int. Only
 * built for MPI-4. */
#include "test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
#if MPI_VERSION >= 4
    enum { COUNT = 100 };
    long *memory, *given, values[COUNT], back[COUNT], one = 1;
    MPI_Win win, allocated;
    MPI_Request r[4];
    MPI_Alloc_mem(COUNT * sizeof *memory, MPI_INFO_NULL, &memory);
    memset(memory, 0, COUNT * sizeof *memory);
    MPI_Win_create_c(memory, COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &win);
    MPI_Win_allocate_c(sizeof *given, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &given, &allocated);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT; i++)
        values[i] = i + 1;
    int target = test_next();
    MPI_Count many = (MPI_Count)1 << 33;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put_c(values, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, win);
    MPI_Accumulate_c(values, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, MPI_SUM, win);
    MPI_Get_accumulate_c(values, 1, MPI_LONG, back, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM,
                         win);
    CHECK(back[0] == 2, "%ld", back[0]);
    MPI_Rput_c(&one, 1, MPI_LONG, target, 1, 1, MPI_LONG, win, &r[0]);
    MPI_Raccumulate_c(&one, 1, MPI_LONG, target, 2, 1, MPI_LONG, MPI_SUM, win, &r[1]);
    MPI_Rget_accumulate_c(&one, 1, MPI_LONG, back, 1, MPI_LONG, target, 3, 1, MPI_LONG, MPI_SUM,
                          win, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    CHECK(back[0] == 8, "%ld", back[0]);
    MPI_Rget_c(back, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, win, &r[3]);
    MPI_Wait(&r[3], MPI_STATUS_IGNORE);
    CHECK(back[0] == 3 && back[1] == 1 && back[2] == 7 && back[3] == 9 && back[99] == 200,
          "%ld %ld %ld %ld", back[0], back[1], back[2], back[3]);
    MPI_Get_c(back, COUNT, MPI_LONG, target, 0, COUNT, MPI_LONG, win);
    CHECK(back[50] == 102, "%ld", back[50]);
    CHECK_CLASS(MPI_Put_c(values, many, MPI_LONG, target, 0, many, MPI_LONG, win),
                MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Get_c(back, many + 1, MPI_LONG, target, 0, many + 1, MPI_LONG, win),
                MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Put_c(values, -1, MPI_LONG, target, 0, -1, MPI_LONG, win), MPI_ERR_COUNT);
    MPI_Win_unlock(target, win);
    MPI_Win_free(&win);
    MPI_Win_free(&allocated);
    MPI_Free_mem(memory);
#endif
    return test_end();
}
