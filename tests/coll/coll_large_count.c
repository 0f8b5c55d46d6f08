/* The `_c` calls of MPI-4: each gives the same result as its int version (H32: large counts). */
#include "coll.h"

#if MPI_VERSION >= 4
static MPI_Comm comm;
enum { ROOM = 4096 };
static int out[ROOM], in[ROOM];

static void begin(void)
{
    coll_turn++;
    for (int i = 0; i < ROOM; i++)
        out[i] = test_rank * 10000 + i + (int)coll_turn, in[i] = -1;
}

static int of(int rank, int i)
{
    return rank * 10000 + i + (int)coll_turn;
}

static int sum(int ranks, int i)
{
    return ranks * (ranks - 1) / 2 * 10000 + ranks * (i + (int)coll_turn);
}

static void uniform(MPI_Count n, int root)
{
    int last = (int)n - 1;
    begin();
    if (test_rank == root)
        in[last] = of(root, last);
    MPI_Bcast_c(in, n, MPI_INT, root, comm);
    CHECK(in[last] == of(root, last), "bcast: %d", in[last]);
    begin();
    MPI_Gather_c(out, n, MPI_INT, in, n, MPI_INT, root, comm);
    for (int r = 0; r < test_size && test_rank == root; r++)
        CHECK(in[r * (int)n + last] == of(r, last), "gather: %d", in[r * (int)n + last]);
    begin();
    MPI_Scatter_c(out, n, MPI_INT, in, n, MPI_INT, root, comm);
    CHECK(in[last] == of(root, test_rank * (int)n + last), "scatter: %d", in[last]);
    begin();
    MPI_Allgather_c(out, n, MPI_INT, in, n, MPI_INT, comm);
    for (int r = 0; r < test_size; r++)
        CHECK(in[r * (int)n + last] == of(r, last), "allgather: %d", in[r * (int)n + last]);
    begin();
    MPI_Alltoall_c(out, n, MPI_INT, in, n, MPI_INT, comm);
    for (int r = 0; r < test_size; r++)
        CHECK(in[r * (int)n + last] == of(r, test_rank * (int)n + last), "alltoall: %d", in[last]);
}

static void varying(MPI_Count n, int root)
{
    MPI_Count counts[16], in_counts[16];
    MPI_Aint displs[16], bytes[16];
    MPI_Datatype types[16];
    for (int r = 0; r < test_size; r++) {
        counts[r] = r + n, in_counts[r] = test_rank + n;
        displs[r] = (test_size - 1 - r) * 500, bytes[r] = displs[r] * (MPI_Aint)sizeof(int);
        types[r] = MPI_INT;
    }
    MPI_Count mine = counts[test_rank];
    begin();
    MPI_Gatherv_c(out, mine, MPI_INT, in, counts, displs, MPI_INT, root, comm);
    for (int r = 0; r < test_size && test_rank == root; r++)
        CHECK(in[displs[r] + counts[r] - 1] == of(r, (int)counts[r] - 1), "gatherv from %d", r);
    begin();
    MPI_Scatterv_c(out, counts, displs, MPI_INT, in, mine, MPI_INT, root, comm);
    CHECK(in[mine - 1] == of(root, (int)(displs[test_rank] + mine) - 1), "scatterv");
    begin();
    MPI_Allgatherv_c(out, mine, MPI_INT, in, counts, displs, MPI_INT, comm);
    for (int r = 0; r < test_size; r++)
        CHECK(in[displs[r] + counts[r] - 1] == of(r, (int)counts[r] - 1), "allgatherv from %d", r);
    begin();
    MPI_Alltoallv_c(out, counts, displs, MPI_INT, in, in_counts, displs, MPI_INT, comm);
    for (int r = 0; r < test_size; r++)
        CHECK(in[displs[r] + mine - 1] == of(r, (int)(displs[test_rank] + mine) - 1),
              "alltoallv from %d", r);
    begin();
    MPI_Alltoallw_c(out, counts, bytes, types, in, in_counts, bytes, types, comm);
    for (int r = 0; r < test_size; r++)
        CHECK(in[displs[r] + mine - 1] == of(r, (int)(displs[test_rank] + mine) - 1),
              "alltoallw from %d", r);
    int first = 0;
    for (int r = 0; r < test_rank; r++)
        first += (int)counts[r];
    begin();
    MPI_Reduce_scatter_c(out, in, counts, MPI_INT, MPI_SUM, comm);
    CHECK(in[mine - 1] == sum(test_size, first + (int)mine - 1), "reduce_scatter: %d",
          in[mine - 1]);
}

static void reductions(MPI_Count n, int root)
{
    int last = (int)n - 1;
    begin();
    MPI_Reduce_c(out, in, n, MPI_INT, MPI_SUM, root, comm);
    CHECK(in[last] == (test_rank == root ? sum(test_size, last) : -1), "reduce: %d", in[last]);
    begin();
    MPI_Allreduce_c(out, in, n, MPI_INT, MPI_SUM, comm);
    CHECK(in[last] == sum(test_size, last), "allreduce: %d", in[last]);
    begin();
    MPI_Allreduce_c(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, comm);
    CHECK(out[last] == sum(test_size, last), "allreduce in place: %d", out[last]);
    begin();
    MPI_Scan_c(out, in, n, MPI_INT, MPI_SUM, comm);
    CHECK(in[last] == sum(test_rank + 1, last), "scan: %d", in[last]);
    begin();
    MPI_Exscan_c(out, in, n, MPI_INT, MPI_SUM, comm);
    CHECK(!test_rank || in[last] == sum(test_rank, last), "exscan: %d", in[last]);
    begin();
    MPI_Reduce_scatter_block_c(out, in, n, MPI_INT, MPI_SUM, comm);
    CHECK(in[last] == sum(test_size, test_rank * (int)n + last), "reduce_scatter_block: %d",
          in[last]);
}

/* A user-defined operation with MPI_Count. */
static int calls_c;
static void add_c(void *x, void *y, MPI_Count *count, MPI_Datatype *type)
{
    (void)type;
    calls_c++;
    for (MPI_Count i = 0; i < *count; i++)
        ((int *)y)[i] += ((int *)x)[i];
}

static void user_operation(MPI_Count n)
{
    MPI_Op op;
    MPI_Op_create_c(add_c, 1, &op);
    begin();
    MPI_Allreduce(out, in, (int)n, MPI_INT, op, comm);
    CHECK(in[n - 1] == sum(test_size, (int)n - 1), "an operation of _c: %d", in[n - 1]);
    begin();
    MPI_Allreduce_c(out, in, n, MPI_INT, op, comm);
    CHECK(in[n - 1] == sum(test_size, (int)n - 1), "an operation of _c in _c: %d", in[n - 1]);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    for (MPI_Count n = 1; n < 400; n = n * 5 + 1)
        for (int root = 0; root < test_size; root++) {
            uniform(n, root);
            varying(n, root);
            reductions(n, root);
            user_operation(n);
        }
    return test_end();
}
#else
int main(void)
{
    return 77; /* only for hosts that have them */
}
#endif
