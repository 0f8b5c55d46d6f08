/* The only call on a communicator is refused on one rank because of its arguments, and then all
 * ranks free the communicator. The other ranks have made the call too, or not. Fails by a hang or
 * wrong data on the next communicator, if its memory is that of the freed one, which a rank still
 * accesses (H24: stale handles and mappings). */
#include "coll.h"

enum { ROUNDS = 4, MANY = 16 };

/* In the order of the ranks: each waits for a message of the previous one. */
static void free_in_turn(MPI_Comm *comm)
{
    if (test_rank > 0)
        MPI_Recv(NULL, 0, MPI_INT, test_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(comm);
    if (test_rank < test_size - 1)
        MPI_Send(NULL, 0, MPI_INT, test_rank + 1, 1, MPI_COMM_WORLD);
}

static void refuse(int root, bool alone)
{
    MPI_Comm comm;
    int all[64], me = test_rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (me == root)
        CHECK_CLASS(MPI_Gather(&me, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, root, comm),
                    MPI_ERR_TYPE);
    else if (!alone)
        CHECK_CLASS(MPI_Gather(&me, 1, MPI_INT, all, 1, MPI_INT, root, comm), MPI_SUCCESS);
    free_in_turn(&comm);
}

/* The others have freed the communicator before rank 0, the root, makes the call. */
static void gather_late(int round)
{
    MPI_Comm comm;
    int all[64], value = 100 * round + test_rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (test_rank == 0)
        for (int r = 1; r < test_size; r++)
            MPI_Recv(NULL, 0, MPI_INT, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
    MPI_Comm_free(&comm);
    if (test_rank != 0)
        MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
    for (int r = 0; test_rank == 0 && r < test_size; r++)
        CHECK(all[r] == 100 * round + r, "round %d: %d from %d", round, all[r], r);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++)
        for (int root = 0; root < test_size; root++)
            for (int alone = 0; alone < 2; alone++) {
                refuse(root, alone);
                for (int i = 0; i < MANY; i++)
                    gather_late(MANY * round + i);
            }
    return test_end();
}
