/* A communicator handle, and the host's context id, are reused for another group: another order,
 * another size, other members. Fails if state of the freed communicator is used, such as data from
 * a rank that ran ahead. */
#include "kinds.h"

enum { TIMES = 120 };

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm comm;
        int colour = i % 4 == 0   ? 0
                     : i % 4 == 1 ? test_rank / 2
                     : i % 4 == 2 ? test_rank % 2
                                  : (test_rank == i / 4 % test_size);
        MPI_Comm_split(MPI_COMM_WORLD, colour, i % 5 ? -test_rank : test_rank, &comm);
        int me, size, value = -1, calls = i % 3 * 6;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &size);
        for (int call = 0; call < calls; call++)
            kinds_all(comm, i + call, "a new group");
        /* The root may be far ahead after the last call. */
        value = me == 0 ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, 0, comm);
        kinds_expect(value, i, "the last bcast", "a new group");
        value = me;
        MPI_Gather(&value, 1, MPI_INT, (int[64]){0}, 1, MPI_INT, i % size, comm);
        MPI_Comm_free(&comm);
        CHECK(comm == MPI_COMM_NULL);
    }
    return test_end();
}
