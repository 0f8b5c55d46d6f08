/* Parents and two spawned children use windows, within each job and on the merged communicator.
 *
 *   spawn COMMAND [ARGUMENT ...]   how to start a child, which runs this program too
 */
#include "test.h"

static void ring(MPI_Comm comm)
{
    int me, size, mine, *memory = window_memory(sizeof *memory);
    MPI_Win win;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    mine = 10 + me;
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_INT, (me + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == 10 + (me + size - 1) % size, "%d of %d: %d", me, size, *memory);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    MPI_Comm other, together;
    test_begin(&argc, &argv);
    MPI_Comm_get_parent(&other);
    int is_child = other != MPI_COMM_NULL;
    ring(MPI_COMM_WORLD);
    if (!is_child)
        MPI_Comm_spawn(argv[1], argv + 2, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, is_child, &together);
    ring(together);
    ring(MPI_COMM_WORLD);
    MPI_Comm_free(&together);
    MPI_Comm_disconnect(&other);
    return test_end();
}
