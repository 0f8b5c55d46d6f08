/* While a communicator is being set up, a call that one rank alone makes, and that the host
 * refuses, changes nothing; and calls without data wait for no rank (H14: setting up is itself
 * collective; H15: collectives that do not synchronise). */
#include "kinds.h"

static MPI_Comm new_comm(int calls)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < calls; i++)
        MPI_Barrier(comm);
    return comm;
}

static void refused_on_one_rank(int calls)
{
    MPI_Comm comm = new_comm(calls);
    int value = test_rank, sum;
    if (test_rank == 0) {
        CHECK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, comm) != MPI_SUCCESS);
        CHECK(MPI_Allgather(&value, 1, MPI_INT, NULL, -1, MPI_INT, comm) != MPI_SUCCESS);
    }
    kinds_all(comm, calls, "after a refused call");
    MPI_Comm_free(&comm);
}

enum { ALLREDUCE, REDUCE_SCATTER, ALLTOALLV, KINDS };

static void without_data(int kind, MPI_Comm comm)
{
    static const int none[64];
    int value = 0, result = 0;
    if (kind == ALLREDUCE)
        MPI_Allreduce(&value, &result, 0, MPI_INT, MPI_SUM, comm);
    else if (kind == REDUCE_SCATTER)
        MPI_Reduce_scatter_block(&value, &result, 0, MPI_INT, MPI_SUM, comm);
    else
        MPI_Alltoallv(&value, none, none, MPI_INT, &result, none, none, MPI_INT, comm);
}

/* The last rank makes its second call only when rank 0 has made four. */
static void ahead(int kind)
{
    MPI_Comm comm = new_comm(0);
    int last = test_size - 1, before = test_rank == last ? 1 : 4;
    for (int i = 0; i < before; i++)
        without_data(kind, comm);
    if (test_rank == 0)
        MPI_Send(NULL, 0, MPI_INT, last, 0, MPI_COMM_WORLD);
    if (test_rank == last)
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = before; i < 4; i++)
        without_data(kind, comm);
    kinds_all(comm, kind, "after calls without data");
    MPI_Comm_free(&comm);
}

/* Data move from one group of an intercommunicator to the other only, so only one group waits. */
static void one_way(int calls)
{
    MPI_Comm half, inter;
    int upper = test_rank >= test_size / 2, value = test_rank, got[64] = {0};
    MPI_Comm_split(MPI_COMM_WORLD, upper, test_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : test_size / 2, 1, &inter);
    for (int i = 0; i < calls; i++)
        MPI_Barrier(inter);
    for (int i = 0; i < 3; i++) {
        MPI_Allgather(&value, !upper, MPI_INT, got, upper, MPI_INT, inter);
        MPI_Barrier(inter);
        for (int r = 0; upper && r < test_size / 2; r++)
            CHECK(got[r] == r, "%d from %d", got[r], r);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    for (int calls = 0; calls < 6; calls++)
        refused_on_one_rank(calls);
    for (int calls = 0; calls < 6; calls++)
        one_way(calls);
    for (int kind = 0; kind < KINDS; kind++)
        if (host_is("Open MPI") == (kind != ALLTOALLV)) /* the other host waits */
            ahead(kind);
    return test_end();
}
