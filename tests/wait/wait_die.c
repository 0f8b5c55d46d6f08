/* One rank is killed while the others wait for it inside the host: the job ends, as without the
 * library. */
#include "test.h"

#include <signal.h>
#include <time.h>

int main(int argc, char **argv)
{
    int received;
    test_begin(&argc, &argv);
    if (test_rank == test_size - 1) {
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        raise(SIGKILL);
    }
    MPI_Recv(&received, 1, MPI_INT, test_size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return test_end();
}
