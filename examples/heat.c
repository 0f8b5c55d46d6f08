/* Heat in a square plate, as a user would write it: rows are distributed over the ranks, and after
 * each step every rank puts its first and last row into its neighbours' ghost rows.
 *
 *  usage: heat [cells per side] [steps]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, n, rows;

/* Row r of a grid of rows + 2 rows; the first and the last are ghost rows. */
static double *row(double *grid, int r)
{
    return grid + (size_t)r * (size_t)n;
}

static void step(double *from, double *to)
{
    for (int r = 1; r <= rows; r++) {
        double *up = row(from, r - 1), *here = row(from, r), *down = row(from, r + 1);
        double *next = row(to, r);
        next[0] = here[0];
        next[n - 1] = here[n - 1];
        for (int c = 1; c < n - 1; c++)
            next[c] = here[c] + 0.2 * (up[c] + down[c] + here[c - 1] + here[c + 1] - 4 * here[c]);
    }
}

static void send_halo(double *grid, MPI_Win win)
{
    MPI_Aint last = (MPI_Aint)(rows + 1) * n; /* all ranks have the same number of rows */
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    if (rank > 0)
        MPI_Put(row(grid, 1), n, MPI_DOUBLE, rank - 1, last, n, MPI_DOUBLE, win);
    if (rank < size - 1)
        MPI_Put(row(grid, rows), n, MPI_DOUBLE, rank + 1, 0, n, MPI_DOUBLE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = argc > 1 ? atoi(argv[1]) : 128;
    int steps = argc > 2 ? atoi(argv[2]) : 20000;
    rows = n / size;

    double *grid[2];
    MPI_Win win[2];
    MPI_Aint bytes = (MPI_Aint)sizeof(double) * (rows + 2) * n;
    for (int g = 0; g < 2; g++) {
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &grid[g]);
        memset(grid[g], 0, (size_t)bytes);
        MPI_Win_create(grid[g], bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win[g]);
    }
    if (rank == 0)
        for (int g = 0; g < 2; g++)
            for (int c = 0; c < n; c++)
                row(grid[g], 0)[c] = 100; /* the hot edge */

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int s = 0; s < steps; s++) {
        step(grid[s % 2], grid[(s + 1) % 2]);
        send_halo(grid[(s + 1) % 2], win[(s + 1) % 2]);
    }
    double took = MPI_Wtime() - start;

    double sum = 0, total;
    for (int r = 1; r <= rows; r++)
        for (int c = 0; c < n; c++)
            sum += row(grid[steps % 2], r)[c];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("result %.10e\nseconds %.3f\n", total, took);

    for (int g = 0; g < 2; g++) {
        MPI_Win_free(&win[g]);
        MPI_Free_mem(grid[g]);
    }
    MPI_Finalize();
    return 0;
}
