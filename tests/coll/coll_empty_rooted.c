/* MPI_Gather and MPI_Scatter of no elements, in which one rank passes MPI_DATATYPE_NULL: only that
 * rank may get an error, and the calls that follow are right. Open MPI accepts some of these calls.
 */
#include "coll.h"

enum { RANKS_MAX = 16 };

static void gather_or_scatter_nothing(MPI_Comm comm, int rank, bool scatters, bool in_place)
{
    int all[RANKS_MAX], own = -1;
    bool passes_null = test_rank == rank;
    MPI_Datatype root_type = passes_null && !rank ? MPI_DATATYPE_NULL : MPI_INT;
    MPI_Datatype type = passes_null && rank ? MPI_DATATYPE_NULL : MPI_INT;
    void *at = in_place && !test_rank ? MPI_IN_PLACE : (void *)&own;
    int error = scatters ? MPI_Scatter(all, 0, root_type, at, 0, type, 0, comm)
                         : MPI_Gather(at, 0, type, all, 0, root_type, 0, comm);
    CHECK(error == MPI_SUCCESS || (passes_null && class_of(error) == MPI_ERR_TYPE),
          "rank %d passes a null datatype: class %d", rank, class_of(error));
    CHECK(own == -1, "a call of nothing wrote %d", own);
}

static void gather_and_scatter(MPI_Comm comm)
{
    int all[RANKS_MAX], own = test_rank + (int)++coll_turn;
    MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
    for (int r = 0; r < test_size && !test_rank; r++) {
        CHECK(all[r] == r + (int)coll_turn, "gathered %d from %d", all[r], r);
        all[r] *= 2;
    }
    MPI_Scatter(all, 1, MPI_INT, &own, 1, MPI_INT, 0, comm);
    CHECK(own == 2 * (test_rank + (int)coll_turn), "scattered %d", own);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 40; i++) {
        gather_or_scatter_nothing(MPI_COMM_WORLD, i % test_size, i % 3, i % 7 == 6);
        gather_and_scatter(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return test_end();
}
