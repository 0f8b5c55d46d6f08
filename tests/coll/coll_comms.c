/* Collectives on communicators from every constructor: ranks are ranks of that communicator. The
 * calls are made as the first ones on the communicator, and again after its set-up. */
#include "kinds.h"

enum { TIMES = 3 };

static void use(MPI_Comm comm, const char *name)
{
    if (comm == MPI_COMM_NULL)
        return;
    for (int i = 0; i < TIMES; i++)
        kinds_all(comm, 100 * i + 7, name);
}

static void use_and_free(MPI_Comm comm, const char *name)
{
    use(comm, name);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

static void of_groups(void)
{
    MPI_Group world, some;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int backwards[64];
    for (int r = 0; r < test_size; r++)
        backwards[r] = test_size - 1 - r;
    MPI_Group_incl(world, test_size, backwards, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
    use_and_free(comm, "Comm_create");
    MPI_Group_free(&some);
    /* all but rank 0, which takes no part */
    MPI_Group_excl(world, 1, (int[]){0}, &some);
    if (test_rank) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &comm);
        use_and_free(comm, "Comm_create_group");
    }
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
    use_and_free(comm, "Comm_create of a part");
    MPI_Group_free(&some);
    MPI_Group_free(&world);
}

static void of_topologies(void)
{
    MPI_Comm comm, row;
    int dims[] = {0, 0}, wraps[] = {1, 0}, keep[] = {0, 1};
    MPI_Dims_create(test_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wraps, 1, &comm);
    use(comm, "Cart_create");
    MPI_Cart_sub(comm, keep, &row);
    use_and_free(row, "Cart_sub");
    MPI_Comm_free(&comm);
    int left = test_previous(), right = test_next(), weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight,
                                   MPI_INFO_NULL, 0, &comm);
    use_and_free(comm, "Dist_graph_create_adjacent");
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm comm, other, both;
    use(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    use(MPI_COMM_SELF, "MPI_COMM_SELF");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm, "Comm_dup");
    MPI_Comm_dup(comm, &other);
    use(other, "Comm_dup of it");
    use(comm, "Comm_dup again");
    MPI_Comm_disconnect(&other);
    MPI_Comm_free(&comm);
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use_and_free(comm, "Comm_idup");
    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, -test_rank, &comm);
    use(comm, "Comm_split");
    MPI_Comm_split(comm, test_rank, 0, &other);
    use_and_free(other, "a part of one rank");
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank ? 1 : MPI_UNDEFINED, 0, &comm);
    use_and_free(comm, "Comm_split without rank 0");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -test_rank, MPI_INFO_NULL, &comm);
    use_and_free(comm, "Comm_split_type");
    of_groups();
    of_topologies();
    if (test_size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &comm);
        MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, !(test_rank % 2), 5, &other);
        MPI_Intercomm_merge(other, test_rank % 2, &both);
        use_and_free(both, "Intercomm_merge");
        MPI_Comm_free(&other);
        MPI_Comm_free(&comm);
    }
    use(MPI_COMM_WORLD, "MPI_COMM_WORLD in the end");
    return test_end();
}
