/* Exchange messages and reduce until the processes are killed. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value, sum;
    char sent[2048] = {0}, received[2048];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (value = rank;; value = sum % 7) {
        MPI_Sendrecv(sent, sizeof sent, MPI_CHAR, !rank, 0, received, sizeof received, MPI_CHAR,
                     !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}
