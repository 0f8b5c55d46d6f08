/* Dynamic and shared windows work, also together with a window of MPI_Win_create over the same
 * memory. */
#include "test.h"

static void dynamic(int *memory)
{
    MPI_Win win;
    MPI_Aint mine, theirs;
    int value = test_rank + 100;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, 2 * sizeof *memory);
    MPI_Get_address(memory, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, test_previous(), 0, &theirs, 1, MPI_AINT, test_next(), 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, test_next(), theirs, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == test_previous() + 100, "%d", memory[0]);
    MPI_Win_fence(0, win);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
}

static void shared(void)
{
    MPI_Win win;
    MPI_Aint size;
    int *memory, *theirs, unit, flag, *flavor;
    MPI_Win_allocate_shared(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                            &win);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
    MPI_Win_shared_query(win, test_next(), &size, &unit, &theirs);
    CHECK(size == sizeof *memory && unit == sizeof *memory, "%ld, %d", (long)size, unit);
    MPI_Win_fence(0, win);
    *theirs = test_rank + 200;
    MPI_Win_fence(0, win);
    CHECK(*memory == test_previous() + 200, "%d", *memory);
    MPI_Win_fence(0, win);
    int value = test_rank + 300;
    MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == test_previous() + 300, "%d", *memory);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(2 * sizeof *memory), value = test_rank + 400;
    MPI_Win created = window_over(memory, 2 * sizeof *memory, sizeof *memory);
    dynamic(memory);
    shared();
    MPI_Win_fence(0, created);
    MPI_Put(&value, 1, MPI_INT, test_next(), 1, 1, MPI_INT, created);
    MPI_Win_fence(0, created);
    CHECK(memory[1] == test_previous() + 400, "%d", memory[1]);
    MPI_Win_free(&created);
    MPI_Free_mem(memory);
    return test_end();
}
