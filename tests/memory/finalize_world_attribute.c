/* In MPI_Finalize, rank 1 sends from the delete function of an attribute of MPI_COMM_WORLD, which
 * the host calls after those of MPI_COMM_SELF. Rank 0 receives before its own MPI_Finalize, so
 * rank 1 must not wait for it in node_setup_finalize() forever. */
#include "test.h"

static int send_to_rank_0(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)keyval, (void)value, (void)state;
    if (test_rank == 1)
        MPI_Send(NULL, 0, MPI_INT, 0, 0, comm);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keyval;
    test_begin(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, send_to_rank_0, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    MPI_Comm_free_keyval(&keyval);
    if (test_rank == 0)
        MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return test_end();
}
