/* Collectives on intercommunicators with MPI_ROOT and MPI_PROC_NULL, with data from the remote
 * group, interleaved with collectives of the two groups alone. */
#include "kinds.h"

enum { TIMES = 10 };

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm part, inter;
    int side = test_rank % 2, me, size, other;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, !side, 7, &inter);
    MPI_Comm_rank(part, &me);
    MPI_Comm_size(part, &size);
    MPI_Comm_remote_size(inter, &other);
    for (int i = 0; i < TIMES; i++) {
        int from = i % 2, value, sum = -1, all[64];
        int root = side != from ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL;
        value = side == from && me == 0 ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, root, inter);
        CHECK(value == (side != from || me == 0 ? i : -1), "bcast: %d", value);
        kinds_all(part, i, "one side");
        MPI_Barrier(inter);
        value = 100 * side + me + i;
        int theirs = other * (100 * !side + i) + other * (other - 1) / 2;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
        CHECK(sum == theirs, "allreduce: %d, expected %d", sum, theirs);
        MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, inter);
        for (int r = 0; r < other; r++)
            CHECK(all[r] == 100 * !side + r + i, "allgather: %d", all[r]);
        MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_MAX, root, inter);
        CHECK(root != MPI_ROOT || sum == 100 * !side + other - 1 + i, "reduce: %d", sum);
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, inter);
        for (int r = 0; r < other && root == MPI_ROOT; r++)
            CHECK(all[r] == 100 * !side + r + i, "gather: %d", all[r]);
        for (int r = 0; r < other; r++)
            all[r] = i + r;
        value = -1;
        MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
        CHECK(side == from || value == i + me, "scatter: %d", value);
        int back[64];
        for (int r = 0; r < other; r++)
            all[r] = 1000 * side + 10 * me + r;
        MPI_Alltoall(all, 1, MPI_INT, back, 1, MPI_INT, inter);
        for (int r = 0; r < other; r++)
            CHECK(back[r] == 1000 * !side + 10 * r + me, "alltoall: %d", back[r]);
        kinds_all(MPI_COMM_WORLD, i, "both sides");
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
    return test_end();
}
