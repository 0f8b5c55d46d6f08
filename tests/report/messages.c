/* Messages and files whose statistics are known. Two ranks; each sends to the other, or itself:
 *
 *   4 MPI_Isend of 256 doubles, 4 MPI_Irecv with room for 512, MPI_Waitall
 *   1 MPI_Send of 64 KiB out of private memory, 2 out of memory of MPI_Alloc_mem, MPI_Recv
 *   1 MPI_Send to MPI_PROC_NULL, and 1 with a wrong datatype, which fails
 *   3 MPI_Iallreduce of 100 ints, MPI_Wait
 *   1 MPI_File_write_all of 1000 bytes, which Open MPI and MPICH perform with messages
 *
 * Rank 0 enters the last MPI_Barrier 100 ms after rank 1.
 *
 *  usage: messages FILE */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG = 1 << 16 };

static int other;
static char private[LONG], received[LONG];

static void exchange(void)
{
    static double out[256], in[512];
    MPI_Request requests[8];
    MPI_Status statuses[8];
    for (int i = 0; i < 4; i++)
        MPI_Irecv(in, 512, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 4; i++)
        MPI_Isend(out, 256, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &requests[4 + i]);
    MPI_Waitall(8, requests, statuses);
}

/* Rank 0 sends before it receives, rank 1 the other way round. */
static void send_long(const char *data)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == !other)
            MPI_Send(data, LONG, MPI_CHAR, other, 9, MPI_COMM_WORLD);
        else
            MPI_Recv(received, LONG, MPI_CHAR, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void write_file(const char *name)
{
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file))
        return;
    MPI_File_set_view(file, 1000 * (1 - other), MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, private, 1000, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    int rank, in[100] = {0}, out[100];
    char *shared;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Alloc_mem(LONG, MPI_INFO_NULL, &shared);
    exchange();
    send_long(private);
    send_long(shared);
    send_long(shared);
    MPI_Send(private, LONG, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(private, LONG, MPI_DATATYPE_NULL, other, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MPI_Iallreduce(in, out, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (argc > 1)
        write_file(argv[1]);
    for (int i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        usleep(100000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Free_mem(shared);
    MPI_Finalize();
    return 0;
}
