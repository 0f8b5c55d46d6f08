/* Ways to end a job during one-sided communication, for the scripts of this folder. Every rank
 * writes its process id into the file DIE_PIDS; then rank 1 (or rank 0 if alone) ends as the
 * argument says, while the other ranks wait for it.
 *
 *   die abort             abort(), after touching memory
 *   die mpi_abort         MPI_Abort
 *   die epoch             SIGKILL between two fences; the others wait in the second
 *   die lock              SIGKILL while holding the lock that the others request
 *   die start             SIGKILL before it posts; the others wait in MPI_Win_start or complete
 *   die leave STATUS      exit() without MPI_Finalize; the others wait in a fence
 *   die shared            SIGKILL; the others wait in a fence of a MPI_Win_allocate_shared window
 *   die shared_all        SIGKILL of all ranks, which have such a window
 */
#include "die.h"

static void use_shared_window(bool all, int victim)
{
    enum { BYTES = 1 << 20 };
    char *memory;
    MPI_Win win;
    MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 1, BYTES);
    MPI_Win_fence(0, win);
    if (all)
        usleep(100000); /* no rank is still in the fence */
    if (all || test_rank == victim)
        die();
    MPI_Win_fence(0, win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "abort";
    int victim = test_size > 1 ? 1 : 0;
    long *memory = window_memory(1 << 20), value = 1;
    MPI_Win win = window_over(memory, 1 << 20, 8);
    MPI_Group world, other;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    note_pid();
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, win);
    if (test_rank == victim) {
        if (!strcmp(how, "abort"))
            abort();
        if (!strcmp(how, "mpi_abort"))
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (!strcmp(how, "epoch"))
            die();
        if (!strcmp(how, "leave"))
            exit(atoi(argv[2]));
    }
    MPI_Win_fence(0, win);
    if (!strncmp(how, "shared", 6))
        use_shared_window(!strcmp(how, "shared_all"), victim);
    if (!strcmp(how, "lock")) {
        if (test_rank == victim)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == victim)
            die();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    }
    if (!strcmp(how, "start")) {
        MPI_Group_incl(world, 1, &victim, &other);
        if (test_rank == victim) {
            usleep(100000);
            die();
        }
        MPI_Win_start(other, 0, win);
        MPI_Put(&value, 1, MPI_LONG, victim, 1, 1, MPI_LONG, win);
        MPI_Win_complete(win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return 0;
}
