/* Ways to end a job during collectives, for tests/memory/killed. Every rank writes its process id
 * into the file DIE_PIDS; then rank 1 ends as the argument says, while the other ranks wait for it.
 *
 *   coll_die barrier        SIGKILL; the others wait in a barrier
 *   coll_die allreduce      a signal in the middle of a large allreduce
 *   coll_die mpi_abort      MPI_Abort; the others wait in a bcast
 *   coll_die leave STATUS   exit() without MPI_Finalize; the others wait in a gather
 */
#include "coll.h"
#include "die.h"

enum { LARGE = 1 << 20 };

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "barrier";
    bool victim = test_rank == 1;
    double *out = calloc(LARGE, sizeof *out), *in = calloc(LARGE, sizeof *in);
    note_pid();
    coll_warm(MPI_COMM_WORLD);
    if (victim && !strcmp(how, "allreduce")) { /* dies inside the call, of SIGALRM */
        signal(SIGALRM, SIG_DFL);
        ualarm(50000, 0);
        for (;;)
            MPI_Allreduce(out, in, LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (victim) {
        usleep(100000); /* the other ranks wait */
        if (!strcmp(how, "barrier"))
            die();
        if (!strcmp(how, "mpi_abort"))
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (!strcmp(how, "leave"))
            exit(atoi(argv[2]));
    }
    if (!strcmp(how, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(how, "mpi_abort"))
        MPI_Bcast(out, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    else if (!strcmp(how, "leave"))
        MPI_Gather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (;;)
        MPI_Allreduce(out, in, LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
