/* Parents and as many spawned children make collective calls within each job, on the
 * intercommunicator between them, and on the merged communicator. The intercommunicator may get the
 * handle of one that has been freed past the library (H24: stale handles and mappings).
 *
 *   coll_spawn COMMAND [ARGUMENT ...]   how to start a child, which runs this program too
 */
#define _GNU_SOURCE
#include "kinds.h"
#include "past_library.h"

enum { TIMES = 5 };

static void discard_unused(void)
{
    int (*free_comm)(MPI_Comm *) = find("MPI_Comm_free");
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    free_comm(&comm);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm other, together;
    MPI_Comm_get_parent(&other);
    int is_child = other != MPI_COMM_NULL, value, sum = -1, n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < TIMES; i++)
        kinds_all(MPI_COMM_WORLD, i, "the world");
    if (!is_child) {
        discard_unused();
        MPI_Comm_spawn(argv[1], argv + 2, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
    }
    for (int i = 0; i < TIMES; i++) {
        value = 10 * is_child + test_rank;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, other);
        CHECK(sum == n * (n - 1) / 2 + (is_child ? 0 : 10 * n), "between parents and children: %d",
              sum);
    }
    MPI_Intercomm_merge(other, is_child, &together);
    for (int i = 0; i < TIMES; i++) {
        kinds_all(together, i, "all together");
        kinds_all(MPI_COMM_WORLD, i, "the world again");
    }
    MPI_Comm_free(&together);
    MPI_Comm_disconnect(&other);
    return test_end();
}
