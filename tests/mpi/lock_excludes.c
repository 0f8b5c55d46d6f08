/* While one rank holds a lock and sleeps, a conflicting lock of another rank waits until the first
 * is released, and a compatible one does not wait. Covers every pair of exclusive, shared and
 * lock_all. */
#include "test.h"

#include <unistd.h>

enum { HELD_MS = 200 };
enum kind { EXCLUSIVE, SHARED, ALL, KINDS };
static const char *const names[] = {"exclusive", "shared", "all"};

static MPI_Win win;
static const int target = 1;

static void begin(enum kind kind)
{
    if (kind == ALL)
        MPI_Win_lock_all(0, win);
    else
        MPI_Win_lock(kind == SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
}

static void end(enum kind kind)
{
    if (kind == ALL)
        MPI_Win_unlock_all(win);
    else
        MPI_Win_unlock(target, win);
}

static int number(void)
{
    int n;
    MPI_Get(&n, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    return n;
}

static void set(int n)
{
    MPI_Put(&n, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
}

static void hold(enum kind kind, enum kind other, int round)
{
    begin(kind);
    int before = number();
    MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    usleep(HELD_MS * 1000);
    CHECK(number() == before, "%s beside %s: it changed", names[kind], names[other]);
    if (kind == EXCLUSIVE)
        set(10 * round + 1);
    end(kind);
}

static void ask(enum kind kind, enum kind other, int round)
{
    MPI_Recv(&round, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = MPI_Wtime();
    begin(kind);
    int seen = number();
    double waited = MPI_Wtime() - start;
    if (other == EXCLUSIVE)
        CHECK(seen == 10 * round + 1, "%s beside %s: got in too early", names[kind], names[other]);
    if (kind != EXCLUSIVE && other != EXCLUSIVE)
        CHECK(waited < HELD_MS / 2e3, "%s beside %s: waited for %.3f s", names[kind], names[other],
              waited);
    if (kind == EXCLUSIVE)
        set(10 * round + 2);
    end(kind);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(sizeof *memory), round = 0;
    win = window_over(memory, sizeof *memory, sizeof *memory);
    for (enum kind held = 0; held < KINDS; held++)
        for (enum kind asked = 0; asked < KINDS; asked++) {
            round++;
            MPI_Barrier(MPI_COMM_WORLD);
            if (test_rank == 1)
                hold(held, asked, round);
            else
                ask(asked, held, round);
        }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
