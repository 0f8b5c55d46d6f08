/* Each rank spawns two children of its own, at the same time. The children of each use a window
 * among themselves. MPICH from 4.1 on serves all of them by one process of its launcher, so nothing
 * but the host itself tells the two jobs apart (H8: other jobs on the node).
 *
 *   spawn_each COMMAND [ARGUMENT ...]   how to start a child, which runs this program too
 */
#include "test.h"

static void swap(MPI_Comm comm)
{
    int me, size, mine, *memory = window_memory(sizeof *memory);
    MPI_Win win;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    MPI_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, comm, &win);
    for (int round = 0; round < 100; round++) {
        mine = 100 * round + me;
        MPI_Win_fence(0, win);
        MPI_Put(&mine, 1, MPI_INT, (me + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(*memory == 100 * round + (me + size - 1) % size, "round %d: %d", round, *memory);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    test_begin(&argc, &argv);
    MPI_Comm_get_parent(&other);
    if (other != MPI_COMM_NULL) {
        swap(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_spawn(argv[1], argv + 2, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other,
                       MPI_ERRCODES_IGNORE);
    }
    MPI_Barrier(other);
    MPI_Comm_disconnect(&other);
    return test_end();
}
