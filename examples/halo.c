/* Waves on a ring, with ordinary sends, as most MPI programs have them: after each step every rank
 * exchanges the edges of its part with its neighbours (MPI_Isend, MPI_Irecv, MPI_Waitall), and
 * every hundredth step all ranks add up the energy (MPI_Allreduce). libmpiaccel leaves short
 * messages to the MPI, so this program shows what it does not gain.
 *
 *  usage: halo [cells per rank] [steps]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 64 /* cells of a ghost zone */ };

static int left, right, n;

/* The cells of a part are WIDTH to WIDTH + n - 1; on both sides of them are ghost zones. */
static void exchange(double *part)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Irecv(part, WIDTH, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(part + WIDTH + n, WIDTH, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(part + n, WIDTH, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(part + WIDTH, WIDTH, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
}

static void step(const double *before, const double *now, double *next)
{
    for (int i = WIDTH; i < WIDTH + n; i++) {
        double force = now[i - WIDTH] + now[i - 1] + now[i + 1] + now[i + WIDTH] - 4 * now[i];
        next[i] = 2 * now[i] - before[i] + 0.1 * force;
    }
}

static double energy(const double *part)
{
    double sum = 0, total;
    for (int i = WIDTH; i < WIDTH + n; i++)
        sum += part[i] * part[i];
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    n = argc > 1 ? atoi(argv[1]) : 4000;
    int steps = argc > 2 ? atoi(argv[2]) : 50000;

    double *part[3]; /* before, now and next, in turn */
    for (int p = 0; p < 3; p++)
        part[p] = calloc((size_t)n + 2 * WIDTH, sizeof(double));
    for (int i = 0; i < n; i++)
        part[0][WIDTH + i] = part[1][WIDTH + i] = sin(0.001 * (rank * n + i));

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), total = 0;
    for (int s = 0; s < steps; s++) {
        double *now = part[(s + 1) % 3];
        exchange(now);
        step(part[s % 3], now, part[(s + 2) % 3]);
        if (s % 100 == 0)
            total = energy(now);
    }
    double took = MPI_Wtime() - start;
    if (rank == 0)
        printf("result %.10e\nseconds %.3f\n", total, took);
    for (int p = 0; p < 3; p++)
        free(part[p]);
    MPI_Finalize();
    return 0;
}
