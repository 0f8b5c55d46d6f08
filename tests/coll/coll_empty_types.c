/* MPI_Alltoallw with MPI_DATATYPE_NULL for blocks without elements, on some ranks only. MPICH
 * accepts that, and ParallelIO and ESMF rely on it (H13: decisions from what is equal on all
 * ranks). */
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

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++)
        exchange(MPI_COMM_WORLD, i % 3 == 2);
    MPI_Barrier(MPI_COMM_WORLD);
    return test_end();
}
