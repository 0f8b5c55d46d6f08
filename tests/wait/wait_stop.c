/* Ranks are stopped for a while, as by a debugger or a batch system that suspends a job: the others
 * wait, nothing is lost, and all go on afterwards.
 */
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOPS = 60, ROUNDS_MIN = 100 };

/* A child of rank 0 that is not a rank: gets the process ids of the ranks, stops one after the
 * other for up to 8 ms, and then sends a byte. */
static void stop_ranks(int orders, int reports)
{
    pid_t ranks[64];
    ssize_t bytes = read(orders, ranks, sizeof ranks);
    unsigned count = bytes > 0 ? (unsigned)((size_t)bytes / sizeof *ranks) : 0;
    for (unsigned i = 0; count && i < STOPS; i++) {
        pid_t rank = ranks[i * 7 % count];
        kill(rank, SIGSTOP);
        usleep(1000 * (i % 9));
        kill(rank, SIGCONT);
        usleep(500 * (i % 5));
    }
    _exit(write(reports, "", 1) != 1);
}

static bool is_over(int reports)
{
    struct pollfd report = {.fd = reports, .events = POLLIN};
    return poll(&report, 1, 0) > 0;
}

/* Not atomic, and slow enough for ranks to be stopped while they have the lock. */
static void add_one(MPI_Win win)
{
    int count;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&count, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    usleep(200);
    count++;
    MPI_Put(&count, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
}

/* One round of calls that wait, inside the host and in the library. */
static void communicate(MPI_Win win, int round)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    int mine[3] = {round, test_rank, 0}, got[3] = {0}, sum = 0;
    MPI_Sendrecv(mine, 3, MPI_INT, right, 1, got, 3, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(got[0] == round && got[1] == left);
    MPI_Allreduce(&test_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == test_size * (test_size - 1) / 2);
    add_one(win);
}

int main(int argc, char **argv)
{
    int orders[2], reports[2], over = 0, round = 0, *count;
    CHECK(!pipe(orders) && !pipe(reports));
    pid_t child = fork();
    if (!child) {
        close(orders[1]);
        stop_ranks(orders[0], reports[1]);
    }
    test_begin(&argc, &argv);
    pid_t own = getpid(), all[64];
    MPI_Win win;
    MPI_Win_allocate(sizeof *count, sizeof *count, MPI_INFO_NULL, MPI_COMM_WORLD, &count, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win);
    *count = 0;
    MPI_Win_unlock(test_rank, win);
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    size_t bytes = (size_t)test_size * sizeof own;
    if (!test_rank)
        CHECK(write(orders[1], all, bytes) == (ssize_t)bytes);
    close(orders[1]); /* the children of other ranks end */
    for (; !over; round++) {
        communicate(win, round);
        over = round >= ROUNDS_MIN && is_over(reports[0]);
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win);
    CHECK(*count == (test_rank ? 0 : round * test_size));
    MPI_Win_unlock(test_rank, win);
    MPI_Win_free(&win);
    waitpid(child, NULL, 0);
    return test_end();
}
