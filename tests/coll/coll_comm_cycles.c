/* Communicators are created, used and freed, as many times as the argument says. Fails if a
 * communicator leaves anything behind: memory of the process, descriptors, or blocks of the files
 * behind them. */
#include "kinds.h"
#include "use.h"

static void cycle(int i)
{
    MPI_Comm comm;
    if (i % 2)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 4 ? test_rank : -test_rank, &comm);
    /* no calls; a few; enough for a team */
    if (i % 3)
        kinds_all(comm, i, "a new one");
    if (i % 3 == 2)
        kinds_all(comm, i + 1, "a new one, again");
    if (i % 5)
        MPI_Comm_free(&comm);
    else
        MPI_Comm_disconnect(&comm);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    int cycles = argc > 1 ? atoi(argv[1]) : 1000;
    /* Shows a leak of one page per communicator in use. */
    check_cycles(cycle, 200, cycles, 1024 + cycles / 2);
    return test_end();
}
