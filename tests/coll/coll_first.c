/* A program that makes only one kind of collective call on a communicator, from the first call on:
 * small or large, on the world or a new communicator; and a root that is far ahead from the first
 * call on. Fails if the set-up of a communicator depends on another kind of call. */
#include "kinds.h"

enum { TIMES = 14, LARGE = 30000 };

static int out[4 * LARGE], in[4 * LARGE];

static void one(int kind, MPI_Comm comm, int n, int turn)
{
    int me, size, expected = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < n * size; i++)
        out[i] = turn + me, in[i] = -1;
    int sum = size * turn + size * (size - 1) / 2, root = turn % size;
    switch (kind) {
    case 0:
        in[n - 1] = me == root ? turn : -1;
        MPI_Bcast(in, n, MPI_INT, root, comm);
        expected = turn;
        break;
    case 1:
        MPI_Reduce(out, in, n, MPI_INT, MPI_SUM, root, comm);
        expected = me == root ? sum : -1;
        break;
    case 2:
        MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, comm);
        expected = sum;
        break;
    case 3:
        MPI_Gather(out, n, MPI_INT, in, n, MPI_INT, root, comm);
        expected = me == root ? turn : -1;
        break;
    case 4:
        MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, comm);
        expected = turn + root;
        break;
    case 5:
        MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, comm);
        expected = turn;
        break;
    case 6:
        MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, comm);
        expected = turn;
        break;
    case 7:
        MPI_Scan(out, in, n, MPI_INT, MPI_SUM, comm);
        expected = (me + 1) * turn + me * (me + 1) / 2;
        break;
    case 8:
        MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, comm);
        expected = sum;
        break;
    default:
        MPI_Barrier(comm);
        return;
    }
    CHECK(in[n - 1] == expected, "kind %d, turn %d of %d: %d, expected %d", kind, turn, n,
          in[n - 1], expected);
}

/* The root may be ahead of the other ranks, or they of the root, from the first call on. */
static void ahead(MPI_Comm comm, bool root_first)
{
    int me, size, token = 1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    bool first = (me == 0) == root_first;
    for (int r = 1; r < size && !first; r++)
        if (me == 0 || r == me)
            MPI_Recv(&token, 1, MPI_INT, me ? 0 : r, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < TIMES; i++) {
        int value = root_first && me ? -1 : i, sum = -1;
        if (root_first)
            MPI_Bcast(&value, 1, MPI_INT, 0, comm);
        else
            MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
        CHECK(value == i, "bcast: %d, expected %d", value, i);
        CHECK(root_first || me || sum == size * i, "reduce: %d of %d", sum, i);
    }
    for (int r = 1; r < size && first; r++)
        if (me == 0 || r == me)
            MPI_Send(&token, 1, MPI_INT, me ? 0 : r, 0, comm);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm comm;
    if (argc > 1) /* no call on the world before */
        for (int i = 0; i < TIMES; i++)
            one(atoi(argv[1]), MPI_COMM_WORLD, i % 2 ? 1 : LARGE, i);
    for (int kind = 0; kind < 10; kind++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < TIMES; i++)
            one(kind, comm, i % 3 ? 1 : LARGE, i);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        ahead(comm, i % 2);
        MPI_Comm_free(&comm);
    }
    return test_end();
}
