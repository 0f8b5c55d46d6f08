/* Messages and files whose statistics are known. Two ranks; each sends to the other, or itself:
 *
 *   4 MPI_Isend of 256 doubles, 4 MPI_Irecv with room for 512, MPI_Waitall
 *   1 MPI_Send of 64 KiB out of private memory, 2 out of memory of MPI_Alloc_mem, MPI_Recv
 *   1 MPI_Send of 16 KiB, MPI_Recv
 *   1 MPI_Send to MPI_PROC_NULL, and 1 with a wrong datatype, which fails
 *   3 MPI_Iallreduce of 100 ints, MPI_Wait
 *   3 starts of a persistent send of 64 KiB out of private memory, 1 of them by MPI_Startall
 *   together with a persistent receive, which is started 3 times, too; and 1 start of a buffered
 *   one of 8 bytes with the handle of a freed persistent send
 *   1 MPI_Ialltoallv of 100 ints to rank 0 and 200 to rank 1, 1 MPI_Igatherv of 100 ints, in place
 *   on rank 0, and 1 MPI_Neighbor_alltoall of 10 ints to both neighbours in a ring
 *   1 MPI_Send of 64 KiB to the other rank on a communicator without collectives
 *   1 MPI_File_write_all of 1000 bytes, which Open MPI and MPICH perform with messages
 *
 * Rank 0 enters the last MPI_Barrier 100 ms after rank 1.
 *
 *  usage: messages FILE */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { EAGER = 1 << 14, LONG = 1 << 16 };

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
static void send(const char *data, int length)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == !other)
            MPI_Send(data, length, MPI_CHAR, other, 9, MPI_COMM_WORLD);
        else
            MPI_Recv(received, length, MPI_CHAR, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persist(void)
{
    MPI_Request requests[2], freed;
    MPI_Status statuses[2];
    char small[8] = "";
    MPI_Send_init(private, LONG, MPI_CHAR, other, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(received, LONG, MPI_CHAR, other, 7, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        if (i == 2) {
            MPI_Startall(2, requests);
        } else {
            MPI_Start(&requests[1]);
            MPI_Start(&requests[0]);
        }
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    for (int i = 0; i < 50; i++) { /* one of them gets a handle that was freed */
        MPI_Bsend_init(small, 8, MPI_CHAR, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &freed);
        MPI_Start(&freed);
        MPI_Wait(&freed, MPI_STATUS_IGNORE);
        MPI_Request_free(&freed);
    }
}

static void collect(void)
{
    static int out[300], in[600], counts[2] = {100, 200}, starts[2] = {0, 100};
    int from[2] = {100 + 100 * (1 - other), 100 + 100 * (1 - other)}, places[2] = {0, 300};
    int all[2] = {100, 100}, sizes[1] = {2}, periods[1] = {1};
    MPI_Request request;
    MPI_Comm ring;
    MPI_Ialltoallv(out, counts, starts, MPI_INT, in, from, places, MPI_INT, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Igatherv(other ? MPI_IN_PLACE : out, 100, MPI_INT, in, all, places, MPI_INT, 0,
                 MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &ring);
    MPI_Neighbor_alltoall(out, 10, MPI_INT, in, 10, MPI_INT, ring);
    if (other)
        MPI_Send(private, LONG, MPI_CHAR, 1, 3, ring);
    else
        MPI_Recv(received, LONG, MPI_CHAR, 0, 3, ring, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
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
    send(private, LONG);
    send(shared, LONG);
    send(shared, LONG);
    send(private, EAGER);
    MPI_Send(private, LONG, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(private, LONG, MPI_DATATYPE_NULL, other, 0, MPI_COMM_WORLD);
    persist();
    collect();
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
