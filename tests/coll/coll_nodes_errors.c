/* An error of the host between nodes, which MPIACCEL_NODE_SIZE imitates: a broadcast that is longer
 * than the buffers on the second node. The rank that communicates for the node detects it. All
 * ranks of the node report the same error class, through the error handler of the communicator, and
 * later calls work. */
#include "coll.h"

enum { ROOM = 10, LONGER = 25, ROUNDS = 3 };

static int handled;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled = class_of(*error);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    coll_warm(comm);
    bool far = test_rank >= test_size / 2;
    for (int i = 0; i < ROUNDS; i++) {
        int data[LONGER] = {0}, classes[64];
        handled = MPI_SUCCESS;
        int result = class_of(MPI_Bcast(data, far ? ROOM : LONGER, MPI_INT, 0, comm));
        CHECK((result != MPI_SUCCESS) == far, "round %d: class %d", i, result);
        CHECK(result == handled, "round %d: class %d, handler %d", i, result, handled);
        MPI_Allgather(&result, 1, MPI_INT, classes, 1, MPI_INT, MPI_COMM_WORLD);
        CHECK(result == classes[far ? test_size - 1 : 0], "round %d: class %d", i, result);
        handled = MPI_SUCCESS;
        result = MPI_Barrier(comm);
        CHECK(result == MPI_SUCCESS && !handled, "barrier in round %d: %d", i, result);
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return test_end();
}
