/* The library cannot allocate memory on one rank, while the program and the host can: all calls end
 * on all ranks, with correct results. With the argument `datatype` or `communicator` the library
 * has to end the job, because it cannot count the calls that the other ranks count.
 */
#define _GNU_SOURCE
#include "coll.h"
#include "starve.h"

/* The last rank has no memory. */
static void starve_last_rank(bool now)
{
    if (now && test_rank == test_size - 1)
        starve(1, INT_MAX);
    else
        starve_end();
}

static void use(MPI_Comm comm, int sum)
{
    for (int i = 0; i < 24; i++) {
        int mine = test_rank + i, got = -1;
        MPI_Barrier(comm);
        MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm);
        CHECK(got == sum, "%d, expected %d", got, sum);
        sum += test_size;
    }
}

static void communicators(void)
{
    enum { COMMS = 4 };
    MPI_Comm comm[COMMS];
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        starve_last_rank(true);
        use(comm[i], test_size * (test_size - 1) / 2);
        starve_last_rank(false);
    }
    for (int i = 0; i < COMMS; i++) {
        use(comm[i], test_size * (test_size - 1) / 2);
        MPI_Comm_free(&comm[i]);
    }
}

/* A communicator of one rank, and one of all other ranks. */
static void two_groups(void)
{
    MPI_Comm mine, inter;
    bool last = test_rank == test_size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, last, test_rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, last ? 0 : test_size - 1, 12, &inter);
    starve_last_rank(true);
    for (int i = 0; i < 24; i++) {
        int give = test_rank + 1, got = -1, others = test_size * (test_size - 1) / 2;
        MPI_Allreduce(&give, &got, 1, MPI_INT, MPI_SUM, inter);
        CHECK(got == (last ? others : test_size), "%d", got);
    }
    starve_last_rank(false);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&mine);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *count; i++)
        *(int *)((char *)inout + i * extent) += *(int *)((char *)in + i * extent);
}

static void operations(void)
{
    enum { MANY = 50000 };
    static int mine[2 * MANY], got[2 * MANY];
    MPI_Datatype spaced;
    MPI_Op op;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(add, 1, &op);
    coll_warm(MPI_COMM_WORLD);
    MPI_Bcast(mine, MANY, spaced, 0, MPI_COMM_WORLD); /* the datatype already has a typemap */
    for (int n = 1; n <= MANY; n *= 10)
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < n; k++)
                mine[2 * k] = test_rank + k;
            memset(got, 0, sizeof got);
            starve_last_rank(true);
            MPI_Allreduce(mine, got, n, i ? spaced : MPI_INT, op, MPI_COMM_WORLD);
            starve_last_rank(false);
            int k = i ? 2 * (n - 1) : 2 * ((n - 1) / 2);
            int value = (i ? n - 1 : (n - 1) / 2) * test_size + test_size * (test_size - 1) / 2;
            CHECK(got[k] == value, "element %d: %d, expected %d", k, got[k], value);
        }
    MPI_Op_free(&op);
    MPI_Type_free(&spaced);
}

/* A rank without the typemap cannot take part in the call. */
static void datatype(void)
{
    static int data[100];
    MPI_Datatype vector;
    coll_warm(MPI_COMM_WORLD);
    MPI_Type_vector(10, 3, 5, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    starve_last_rank(true);
    MPI_Bcast(data, 1, vector, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    starve_last_rank(false);
    MPI_Type_free(&vector);
}

/* The teams of the first communicators take what the shared file has, except for some thousand
 * small blocks, with which the library makes do for a while. */
static void communicator(void)
{
    enum { TEAMS = 4, MORE = 20000 };
    MPI_Comm comm;
    for (int i = 0; i < TEAMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = 0; k < 4; k++)
            MPI_Barrier(comm);
    }
    starve_last_rank(true);
    for (int i = 0; i < MORE; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
    }
    starve_last_rank(false);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    starve_open();
    if (argc > 1) {
        if (!strcmp(argv[1], "datatype"))
            datatype();
        else
            communicator();
        return test_end();
    }
    communicators();
    two_groups();
    operations();
    CHECK(!starve_high || test_rank < test_size - 1 || starve_refusals > 10, "%d refusals",
          starve_refusals);
    return test_end();
}
