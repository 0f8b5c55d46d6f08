/* A communicator may be disconnected after any number of collective calls. Hangs or leaks if its
 * set-up is still in progress at that time. */
#include "coll.h"

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    for (int calls = 0; calls < 24; calls++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < calls; i++) {
            int data = test_rank ? -1 : i;
            MPI_Bcast(&data, 1, MPI_INT, 0, comm);
            CHECK(data == i, "bcast %d: %d", i, data);
        }
        MPI_Comm_disconnect(&comm);
        CHECK(comm == MPI_COMM_NULL, "there is still a handle");
    }
    return test_end();
}
