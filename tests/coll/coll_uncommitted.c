/* Datatypes that the program has not committed, where Open MPI does not check that: the root's in
 * MPI_Scatter, MPI_Gather and MPI_Gatherv, and that of a received block of MPI_Scatter,
 * MPI_Scatterv, MPI_Allgather and MPI_Allgatherv. A rank that left such a call to the host would do
 * so alone (H13: the same decision on all ranks). */
#include "coll.h"

enum { N = 16 };

static double all[64 * N], mine[N];
static int counts[64], displs[64];

/* Each time another type. */
static MPI_Datatype row(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(N, MPI_DOUBLE, &type);
    return type;
}

static void fill(void)
{
    coll_turn++;
    for (int i = 0; i < test_size * N; i++)
        all[i] = coll_turn * 1000 + i;
    memset(mine, 0, sizeof mine);
}

static void check_mine(const char *call)
{
    for (int i = 0; i < N; i++)
        CHECK(mine[i] == coll_turn * 1000 + test_rank * N + i, "%s: element %d", call, i);
}

static void scatter(void)
{
    MPI_Datatype type = row();
    fill();
    MPI_Scatter(all, 1, type, mine, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    check_mine("MPI_Scatter of rows");
    MPI_Type_free(&type);
}

/* Only rank 0 has a committed datatype. */
static void scatter_to_rows(bool counted)
{
    MPI_Datatype type = row();
    bool is_root = test_rank == 0;
    fill();
    if (counted)
        MPI_Scatterv(all, counts, displs, MPI_DOUBLE, is_root ? MPI_IN_PLACE : mine, 1, type, 0,
                     MPI_COMM_WORLD);
    else
        MPI_Scatter(all, N, MPI_DOUBLE, mine, is_root ? N : 1, is_root ? MPI_DOUBLE : type, 0,
                    MPI_COMM_WORLD);
    if (!is_root || !counted)
        check_mine(counted ? "MPI_Scatterv into rows" : "MPI_Scatter into rows");
    MPI_Type_free(&type);
}

static void gather(bool counted)
{
    static int ones[64], numbers[64];
    MPI_Datatype type = row();
    fill();
    for (int i = 0; i < N; i++)
        mine[i] = all[test_rank * N + i];
    memset(all, 0, sizeof all);
    for (int r = 0; r < test_size; r++)
        ones[r] = 1, numbers[r] = r;
    if (counted)
        MPI_Gatherv(mine, N, MPI_DOUBLE, all, ones, numbers, type, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(mine, N, MPI_DOUBLE, all, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; test_rank == 0 && i < test_size * N; i++)
        CHECK(all[i] == coll_turn * 1000 + i, "%s of rows: element %d",
              counted ? "MPI_Gatherv" : "MPI_Gather", i);
    MPI_Type_free(&type);
}

/* Only the other ranks have a committed datatype. */
static void allgather_to_rows(bool counted)
{
    static int ones[64], numbers[64];
    MPI_Datatype type = row(), to = test_rank == 0 ? type : MPI_DOUBLE;
    int each = test_rank == 0 ? 1 : N;
    fill();
    for (int i = 0; i < N; i++)
        mine[i] = all[test_rank * N + i];
    memset(all, 0, sizeof all);
    for (int r = 0; r < test_size; r++)
        ones[r] = each, numbers[r] = r * each;
    if (counted)
        MPI_Allgatherv(mine, N, MPI_DOUBLE, all, ones, numbers, to, MPI_COMM_WORLD);
    else
        MPI_Allgather(mine, N, MPI_DOUBLE, all, each, to, MPI_COMM_WORLD);
    for (int i = 0; i < test_size * N; i++)
        CHECK(all[i] == coll_turn * 1000 + i, "%s into rows: element %d",
              counted ? "MPI_Allgatherv" : "MPI_Allgather", i);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    coll_warm(MPI_COMM_WORLD);
    for (int r = 0; r < test_size; r++)
        counts[r] = N, displs[r] = r * N;
    for (int i = 0; i < 3; i++) {
        double value = i;
        scatter();
        gather(false);
        gather(true);
        scatter_to_rows(false);
        scatter_to_rows(true);
        allgather_to_rows(false);
        allgather_to_rows(true);
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        CHECK(value == i, "MPI_Bcast");
    }
    return test_end();
}
