/* Collectives on communicators that span nodes, which MPIACCEL_NODE_SIZE imitates, in the delete
 * function of an attribute of MPI_COMM_WORLD. MPICH calls it at the end of MPI_Finalize. Rank 0
 * makes one of the calls before its MPI_Finalize. */
#include "coll.h"

static MPI_Comm duplicate;

static void use(MPI_Comm comm)
{
    int mine = test_rank + 1, sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == test_size * (test_size + 1) / 2, "sum %d", sum);
}

static int last_calls(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)keyval, (void)value, (void)state;
    if (test_rank)
        use(comm);
    use(comm);
    use(duplicate);
    return test_failures ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keyval;
    coll_begin(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_calls, &keyval, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    MPI_Comm_free_keyval(&keyval);
    coll_warm(MPI_COMM_WORLD);
    coll_warm(duplicate);
    if (!test_rank)
        use(MPI_COMM_WORLD);
    return test_end();
}
