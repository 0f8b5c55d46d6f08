/* Operations without data: with MPI_PROC_NULL as target, or of count 0, also at a window's end and
 * in a window without memory. They succeed, and their requests complete. With MPI_PROC_NULL, no
 * buffer is used; Open MPI then accepts NULL. */
#include "test.h"

static void all_calls(int count, int rank, MPI_Aint disp, MPI_Win win, bool passive)
{
    int value = 7, result = 8, compare = 9;
    CHECK(!MPI_Put(&value, count, MPI_INT, rank, disp, count, MPI_INT, win));
    CHECK(!MPI_Get(&result, count, MPI_INT, rank, disp, count, MPI_INT, win));
    CHECK(!MPI_Accumulate(&value, count, MPI_INT, rank, disp, count, MPI_INT, MPI_SUM, win));
    CHECK(!MPI_Get_accumulate(&value, count, MPI_INT, &result, count, MPI_INT, rank, disp, count,
                              MPI_INT, MPI_SUM, win));
    if (rank == MPI_PROC_NULL) {
        CHECK(!MPI_Fetch_and_op(&value, &result, MPI_INT, rank, disp, MPI_SUM, win));
        CHECK(!MPI_Compare_and_swap(&value, &compare, &result, MPI_INT, rank, disp, win));
    }
    if (passive) {
        MPI_Request r[4];
        CHECK(!MPI_Rput(&value, count, MPI_INT, rank, disp, count, MPI_INT, win, &r[0]));
        CHECK(!MPI_Rget(&result, count, MPI_INT, rank, disp, count, MPI_INT, win, &r[1]));
        CHECK(!MPI_Raccumulate(&value, count, MPI_INT, rank, disp, count, MPI_INT, MPI_SUM, win,
                               &r[2]));
        CHECK(!MPI_Rget_accumulate(&value, count, MPI_INT, &result, count, MPI_INT, rank, disp,
                                   count, MPI_INT, MPI_SUM, win, &r[3]));
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    }
    CHECK(result == 8, "%d", result);
}

static void without_buffers(MPI_Win win)
{
    CHECK(!MPI_Put(NULL, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, win));
    CHECK(!MPI_Get(NULL, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, win));
    CHECK(!MPI_Accumulate(NULL, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, MPI_SUM, win));
    CHECK(!MPI_Get_accumulate(NULL, 2, MPI_INT, NULL, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT,
                              MPI_SUM, win));
    CHECK(!MPI_Fetch_and_op(NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
    CHECK(!MPI_Compare_and_swap(NULL, NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, win));
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(4 * sizeof *memory);
    MPI_Win win = window_over(memory, 4 * sizeof *memory, sizeof *memory),
            empty = window_over(NULL, 0, 1);
    MPI_Win_fence(0, win);
    all_calls(1, MPI_PROC_NULL, 1000, win, false);
    all_calls(0, test_next(), 4, win, false);
    all_calls(0, test_rank, 0, win, false);
    if (host_is("Open MPI"))
        without_buffers(win);
    MPI_Win_fence(0, win);
    MPI_Win_lock_all(0, empty);
    all_calls(1, MPI_PROC_NULL, 0, empty, true);
    all_calls(0, test_next(), 0, empty, true);
    CHECK(!MPI_Win_flush(MPI_PROC_NULL, empty));
    CHECK(!MPI_Win_flush_local(MPI_PROC_NULL, empty));
    MPI_Win_unlock_all(empty);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(!MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win));
    all_calls(1, MPI_PROC_NULL, 0, win, true);
    CHECK(!MPI_Win_unlock(MPI_PROC_NULL, win));
    for (int i = 0; i < 4; i++)
        CHECK(memory[i] == 0, "element %d is %d", i, memory[i]);
    MPI_Win_free(&win);
    MPI_Win_free(&empty);
    MPI_Free_mem(memory);
    return test_end();
}
