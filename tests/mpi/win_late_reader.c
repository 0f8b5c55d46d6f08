/* A rank is stopped in MPI_Win_free while it waits for the other rank of the window. That rank goes
 * on: it creates and frees a window with a third rank. Then the stopped rank continues, and leaves
 * MPI_Win_free as the other one did. It fails, usually by hanging, if the memory through which the
 * ranks agree to free a window is cleared too early.
 *
 * A host may need the stopped rank in MPI_Win_free, so it also continues after half a second. */
#include "test.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static int stopped;

static void let_continue(int number)
{
    (void)number;
    kill(stopped, SIGCONT);
}

static void arm_timer(void)
{
    struct itimerval half_a_second = {.it_value.tv_usec = 500000};
    signal(SIGALRM, let_continue);
    setitimer(ITIMER_REAL, &half_a_second, NULL);
}

/* A window of two ranks, which has an attribute, so that it is freed by the host. */
static void use_other_window(MPI_Comm comm, int keyval)
{
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_set_attr(win, keyval, NULL);
    MPI_Win_free(&win);
}

static void stop_and_overtake(MPI_Comm first, MPI_Comm second, int keyval)
{
    int *memory;
    MPI_Win win;
    if (first != MPI_COMM_NULL)
        MPI_Win_allocate(8, 8, MPI_INFO_NULL, first, &memory, &win);
    if (test_rank == 0) {
        usleep(20000); /* rank 1 waits in MPI_Win_free, for 100 ms at most */
        arm_timer();
        kill(stopped, SIGSTOP);
    }
    if (first != MPI_COMM_NULL)
        MPI_Win_free(&win);
    if (second != MPI_COMM_NULL)
        use_other_window(second, keyval);
    if (test_rank == 0)
        kill(stopped, SIGCONT);
}

int main(int argc, char **argv)
{
    int keyval;
    MPI_Comm first, second;
    test_begin(&argc, &argv);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank == 2 ? MPI_UNDEFINED : 0, 0, &first);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank == 1 ? MPI_UNDEFINED : 0, 0, &second);
    stopped = (int)getpid();
    MPI_Bcast(&stopped, 1, MPI_INT, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        stop_and_overtake(first, second, keyval);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (first != MPI_COMM_NULL)
        MPI_Comm_free(&first);
    if (second != MPI_COMM_NULL)
        MPI_Comm_free(&second);
    MPI_Win_free_keyval(&keyval);
    return test_end();
}
