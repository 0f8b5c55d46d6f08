/* MPI_Win_shared_query on windows that MPI_Win_create and MPI_Win_allocate have made. From MPI-4.1
 * on it returns the memory of a rank, or a size of 0 if that cannot be accessed by loads and
 * stores. Earlier hosts refuse such windows, with the library, too. Fails if there is another
 * answer, or if an address is not that of the rank's memory. */
#include "test.h"

static bool implements_4_1(void)
{
    int version, subversion;
    MPI_Get_version(&version, &subversion);
    return version > 4 || (version == 4 && subversion >= 1);
}

static void check_answer(MPI_Win win, int rank, MPI_Aint bytes)
{
    MPI_Aint size = -1;
    int unit = -1, *there = NULL;
    CHECK(MPI_Win_shared_query(win, rank, &size, &unit, &there) == MPI_SUCCESS);
    if (size == 0)
        return;
    CHECK(size == bytes && unit == 4, "%ld, %d", (long)size, unit);
    CHECK(*there == 100 + rank, "%d", *there);
}

static void check(MPI_Win win, int *memory, MPI_Aint bytes)
{
    MPI_Aint size;
    int unit, *there;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    *memory = 100 + test_rank;
    MPI_Win_fence(0, win);
    for (int rank = 0; rank < test_size; rank++)
        if (implements_4_1())
            check_answer(win, rank, bytes);
        else
            CHECK_CLASS(MPI_Win_shared_query(win, rank, &size, &unit, &there), MPI_ERR_RMA_FLAVOR);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Win win;
    int *memory = window_memory(64), *allocated;
    for (int round = 0; round < 3; round++) {
        check(window_over(memory, 64, 4), memory, 64);
        MPI_Win_allocate(128, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
        check(win, allocated, 128);
    }
    MPI_Free_mem(memory);
    return test_end();
}
