/* A window on an intercommunicator is an error, and the program goes on. */
#include "test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm half, inter;
    MPI_Win win = MPI_WIN_NULL;
    void *memory = window_memory(8), *given = NULL;
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (test_rank + 1) % 2, 1, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, inter, &given, &win), MPI_ERR_COMM);
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Free_mem(memory);
    return test_end();
}
