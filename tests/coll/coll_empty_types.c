/* MPI_Alltoallw with MPI_DATATYPE_NULL for blocks without elements, and MPI_Bcast of no elements of
 * a datatype that is not committed, on some ranks only. MPICH accepts that, and ParallelIO and ESMF
 * rely on the first (H13: decisions from what is equal on all ranks). */
#include "coll.h"

enum { RANKS_MAX = 16 };

/* Rank 0 exchanges an int with each rank; the others only with rank 0 and themselves. */
static void exchange(MPI_Comm comm, bool in_place)
{
    int out[RANKS_MAX], in[RANKS_MAX], counts[RANKS_MAX], displs[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    coll_turn++;
    for (int r = 0; r < test_size; r++) {
        bool exchanges = !r || !test_rank || r == test_rank;
        counts[r] = exchanges;
        types[r] = exchanges ? MPI_INT : MPI_DATATYPE_NULL;
        displs[r] = r * (int)sizeof(int);
        out[r] = test_rank * 100 + r + (int)coll_turn;
        in[r] = in_place ? out[r] : -1;
    }
    MPI_Alltoallw(in_place ? MPI_IN_PLACE : out, counts, displs, types, in, counts, displs, types,
                  comm);
    for (int r = 0; r < test_size; r++) {
        int kept = in_place ? out[r] : -1;
        int expected = counts[r] ? r * 100 + test_rank + (int)coll_turn : kept;
        CHECK(in[r] == expected, "from %d: %d, expected %d", r, in[r], expected);
    }
}

/* A broadcast of nothing, in which one rank passes `raw`, must not disturb the next broadcast. */
static void broadcast(MPI_Comm comm, int rank, MPI_Datatype raw)
{
    int data = -1, sent = (int)++coll_turn;
    MPI_Bcast(&data, 0, test_rank == rank ? raw : MPI_INT, 0, comm);
    CHECK(data == -1, "a broadcast of nothing wrote %d", data);
    if (!test_rank)
        data = sent;
    MPI_Bcast(&data, 1, MPI_INT, 0, comm);
    CHECK(data == sent, "%d, expected %d", data, sent);
}

int main(int argc, char **argv)
{
    MPI_Datatype raw;
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++)
        exchange(MPI_COMM_WORLD, i % 3 == 2);
    MPI_Type_contiguous(2, MPI_INT, &raw); /* not committed */
    for (int i = 0; i < 20; i++)
        broadcast(MPI_COMM_WORLD, i % test_size, raw);
    MPI_Type_free(&raw);
    MPI_Barrier(MPI_COMM_WORLD);
    return test_end();
}
