/* More ranks than a node of a tree has children (8): data of the calls that go along trees. */
#include "test.h"

enum { TIMES = 60 };

static int words[4096], more[4096];

static void moves(int turn)
{
    int root = turn % test_size, n = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 100 : 4096;
    for (int i = 0; i < n; i++)
        words[i] = test_rank == root ? turn * 31 + i : -1;
    MPI_Bcast(words, n, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(words[0] == turn * 31 && words[n - 1] == turn * 31 + n - 1, "bcast %d", turn);
    for (int i = 0; i < test_size * 8; i++)
        more[i] = turn * 1000 + i;
    MPI_Scatter(more, 8, MPI_INT, words, 8, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(words[7] == turn * 1000 + test_rank * 8 + 7, "scatter %d", turn);
}

static void sums(int turn)
{
    int root = turn * 5 % test_size, n = turn % 2 ? 1 : 500, sum = test_size * (test_size - 1) / 2;
    for (int i = 0; i < n; i++)
        words[i] = test_rank * (i + turn), more[i] = -1;
    MPI_Allreduce(words, more, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(more[0] == sum * turn && more[n - 1] == sum * (n - 1 + turn), "allreduce %d", turn);
    MPI_Reduce(words, more, n, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    if (test_rank == root)
        CHECK(more[n - 1] == (test_size - 1) * (n - 1 + turn), "reduce %d", turn);
}

/* No rank leaves a barrier before all have entered. */
static void barriers(MPI_Win win, int turn)
{
    int arrived = 0, one = 1;
    MPI_Fetch_and_op(&one, &arrived, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(NULL, &arrived, MPI_INT, 0, 0, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    CHECK(arrived == turn * test_size, "barrier %d: %d had arrived", turn, arrived);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *arrived = window_memory(sizeof *arrived);
    MPI_Win win = window_over(arrived, sizeof *arrived, sizeof *arrived);
    MPI_Win_lock_all(0, win);
    for (int turn = 1; turn <= TIMES; turn++) {
        moves(turn);
        sums(turn);
        barriers(win, turn);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(arrived);
    return test_end();
}
