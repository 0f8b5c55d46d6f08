/* Communication whose statistics are known. Three ranks; rank 0 communicates with the others:
 *
 *   puts of 100 and 3000 bytes to rank 1; gets of 100 bytes from rank 1 and 8 bytes from itself
 *   fetch-and-op of a long on rank 2
 *   buffered sends of 20000 bytes to rank 2: on MPI_COMM_WORLD, and persistent, on a communicator
 *   of ranks 2 and 0
 *
 * Each rank allocates nothing for 20 ms, then 1 MiB, and then rank 1 has 2 MiB more for 20 ms. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { MIB = 1 << 20, MESSAGE = 20000 };

static char data[MESSAGE], *attached;

static void send_to_two(MPI_Comm backwards)
{
    MPI_Request request;
    int size = 2 * (MESSAGE + MPI_BSEND_OVERHEAD);
    attached = malloc((size_t)size);
    MPI_Buffer_attach(attached, size);
    MPI_Bsend(data, MESSAGE, MPI_CHAR, 2, 0, MPI_COMM_WORLD);
    MPI_Bsend_init(data, MESSAGE, MPI_CHAR, 0, 0, backwards, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void access_windows(MPI_Win win)
{
    long one = 1, old;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 4; i++)
        MPI_Put(data, 100, MPI_CHAR, 1, 0, 100, MPI_CHAR, win);
    MPI_Put(data, 3000, MPI_CHAR, 1, 0, 3000, MPI_CHAR, win);
    MPI_Get(data, 100, MPI_CHAR, 1, 0, 100, MPI_CHAR, win);
    MPI_Get(data, 8, MPI_CHAR, 0, 0, 8, MPI_CHAR, win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 2, 0, MPI_SUM, win);
    MPI_Win_unlock_all(win);
}

int main(int argc, char **argv)
{
    int rank;
    char *memory, *more = NULL;
    MPI_Win win;
    MPI_Comm backwards;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, -rank, &backwards);
    usleep(20000);
    MPI_Alloc_mem(MIB, MPI_INFO_NULL, &memory);
    MPI_Win_create(memory, MIB, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        access_windows(win);
        send_to_two(backwards);
    }
    if (rank == 2) {
        MPI_Recv(data, MESSAGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, MESSAGE, MPI_CHAR, 1, 0, backwards, MPI_STATUS_IGNORE);
    }
    MPI_Win_free(&win);
    usleep(20000);
    if (rank == 1)
        MPI_Alloc_mem(2 * MIB, MPI_INFO_NULL, &more);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(20000);
    if (rank == 1)
        MPI_Free_mem(more);
    usleep(20000);
    MPI_Free_mem(memory);
    MPI_Comm_free(&backwards);
    if (rank == 0) {
        int size;
        MPI_Buffer_detach(&attached, &size);
        free(attached);
    }
    MPI_Finalize();
    return 0;
}
