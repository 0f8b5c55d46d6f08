/* Work distribution, as a user would write it: the number of the next task is a counter on rank 0,
 * and every rank, including rank 0, fetches a number and works on that task. Tasks differ in
 * length, and a rank makes no MPI call while it works.
 *
 *  usage: tasks [tasks] [mean length in microseconds]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Work that takes a while and returns a number. */
static double work(long task, long length)
{
    double x = (double)task;
    for (long i = 0; i < length; i++)
        x = x * 0.999999 + sin((double)i) * 1e-9;
    return x;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long tasks = argc > 1 ? atol(argv[1]) : 2000;
    long length = 60 * (argc > 2 ? atol(argv[2]) : 200);

    long *counter;
    MPI_Win win;
    MPI_Alloc_mem(sizeof *counter, MPI_INFO_NULL, &counter);
    *counter = 0;
    MPI_Win_create(counter, sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), sum = 0, total;
    const long one = 1;
    for (;;) {
        long task;
        MPI_Fetch_and_op(&one, &task, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (task >= tasks)
            break;
        sum += work(task, length / 2 + task * 7919 % length);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime() - start;

    MPI_Win_unlock_all(win);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("result %.6e\nseconds %.3f\n", total, took);
    MPI_Win_free(&win);
    MPI_Free_mem(counter);
    MPI_Finalize();
    return 0;
}
