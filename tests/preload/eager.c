/* eager BYTES NUMBER: rank 1 receives messages late. Prints for how many of them the host has asked
 * the OS to copy between processes, and whether settings of the host are left in the
 * environment. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern char **environ;

static int copies;

/* This definition comes before the library's and the C library's. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
    copies++;
    return syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
}

static int has_settings(void)
{
    static const char *const names[] = {"OMPI_MCA_btl_vader_", "OMPI_MCA_btl_sm_", "UCX_RNDV_"};
    for (char **entry = environ; *entry; entry++)
        for (int i = 0; i < 3; i++)
            if (!strncmp(*entry, names[i], strlen(names[i])))
                return 1;
    return 0;
}

static void send_early(char *data, int bytes, int number)
{
    MPI_Request *requests = malloc((size_t)number * sizeof *requests);
    for (int k = 0; k < bytes; k++)
        data[k] = (char)(k % 100 + 1);
    for (int i = 0; i < number; i++)
        MPI_Isend(data, bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < number; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    free(requests);
}

static void receive_late(char *data, int bytes, int number)
{
    usleep(100000);
    for (int i = 0; i < number; i++) {
        memset(data, 0, (size_t)bytes);
        MPI_Recv(data, bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < bytes; k++)
            if (data[k] != (char)(k % 100 + 1))
                MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, bytes = atoi(argv[1]), number = atoi(argv[2]), had_settings = has_settings();
    char *data = malloc((size_t)bytes);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (has_settings() != had_settings)
        printf("settings are left\n");
    MPI_Barrier(MPI_COMM_WORLD);
    copies = 0;
    if (rank == 0)
        send_early(data, bytes, number);
    else if (rank == 1)
        receive_late(data, bytes, number);
    MPI_Allreduce(MPI_IN_PLACE, &copies, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d copies\n", copies);
    MPI_Finalize();
    free(data);
    return 0;
}
