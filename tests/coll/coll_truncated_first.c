/* The first calls on a communicator fail on some of its ranks because their buffers are too short.
 * All ranks have made the calls, so all set up the communicator together, or none (H14: setting up
 * a communicator). */
#include "coll.h"

enum { MANY = 10 };

int main(int argc, char **argv)
{
    MPI_Comm comm[2];
    int data[MANY] = {0}, *all;
    coll_begin(&argc, &argv);
    all = calloc((size_t)test_size * MANY, sizeof *all);
    for (int early = 0; early < 2; early++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[early]);
        MPI_Comm_set_errhandler(comm[early], MPI_ERRORS_RETURN);
        for (int i = 0; i <= early; i++) {
            int room = test_rank ? MANY : 1;
            int error = MPI_Gather(data, MANY, MPI_INT, all, room, MPI_INT, 0, comm[early]);
            CHECK(test_rank || class_of(error) == MPI_ERR_TRUNCATE, "class %d", class_of(error));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Barrier(comm[early]) == MPI_SUCCESS, "a barrier after it");
    }
    free(all);
    return test_end();
}
