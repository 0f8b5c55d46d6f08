/* Overlapping communicators in a chain, each of two neighbours: every rank is in one that waits for
 * the previous rank. The first calls come in the order of the chain on some ranks, and in the
 * reverse order on others where the program permits. Hangs if the set-up of a communicator
 * synchronises more than its calls do (H14: setting up a communicator). */
#include "kinds.h"

enum { TIMES = 12 };

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    MPI_Comm left = MPI_COMM_NULL, right = MPI_COMM_NULL, threes;
    MPI_Group world, pair;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int r = 0; r + 1 < test_size; r++) { /* one of the ranks r and r + 1 */
        MPI_Comm comm;
        MPI_Group_incl(world, 2, (int[]){r, r + 1}, &pair);
        MPI_Comm_create(MPI_COMM_WORLD, pair, &comm);
        MPI_Group_free(&pair);
        if (r == test_rank)
            right = comm;
        else if (r + 1 == test_rank)
            left = comm;
    }
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < 3, 0, &threes);
    for (int i = 0; i < TIMES; i++) {
        /* A value travels from rank to rank: through `left`, then `right`. */
        int value = test_rank ? -1 : i;
        if (left != MPI_COMM_NULL)
            MPI_Bcast(&value, 1, MPI_INT, 0, left);
        value++;
        if (right != MPI_COMM_NULL)
            MPI_Bcast(&value, 1, MPI_INT, 0, right);
        CHECK(value == i + test_rank + 1, "%d", value);
        /* A sum travels back, from the last rank to the first. */
        int mine = 1, sum = 0;
        if (right != MPI_COMM_NULL)
            MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, right);
        CHECK(right == MPI_COMM_NULL || sum == 1, "%d", sum);
        if (left != MPI_COMM_NULL)
            MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, left);
        CHECK(left == MPI_COMM_NULL || sum == 2, "%d", sum);
        /* Even ranks use `right` first, so that no two ranks wait for each other. */
        for (int turn = 0; turn < 2; turn++) {
            MPI_Comm comm = (test_rank + turn) % 2 ? left : right;
            if (comm != MPI_COMM_NULL)
                kinds_all(comm, i, "a pair");
        }
        kinds_all(threes, i, "three of them");
        kinds_all(MPI_COMM_WORLD, i, "all of them");
    }
    if (left != MPI_COMM_NULL)
        MPI_Comm_free(&left);
    if (right != MPI_COMM_NULL)
        MPI_Comm_free(&right);
    MPI_Comm_free(&threes);
    MPI_Group_free(&world);
    return test_end();
}
