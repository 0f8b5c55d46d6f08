/* Passive-target communication needs no action of the target (H11: passive target): while the
 * target sleeps, computes or is stopped, an origin completes epochs of every kind in a small
 * fraction of that time. */
#include "test.h"

#include <signal.h>
#include <unistd.h>

enum { COUNT = 4096, AWAY_MS = 800 };

static MPI_Win win;
static int *memory, numbers[COUNT], fetched[COUNT];

static void puts_and_gets(int kind, int target)
{
    MPI_Win_lock(kind, target, 0, win);
    MPI_Put(numbers, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, win);
    MPI_Win_flush(target, win);
    MPI_Get(fetched, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, win);
    MPI_Win_flush_local(target, win);
    CHECK(!memcmp(fetched, numbers, sizeof numbers));
    MPI_Win_unlock(target, win);
}

/* One element, many elements (which switches the target to bulk mode), and one again. */
static void combinations(int target, int addend)
{
    MPI_Request request;
    int before, zero = 0;
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&addend, &before, MPI_INT, target, COUNT, MPI_SUM, win);
    MPI_Compare_and_swap(&addend, &zero, &before, MPI_INT, target, COUNT + 1, win);
    MPI_Win_flush_all(win);
    MPI_Accumulate(numbers, COUNT, MPI_INT, target, 0, COUNT, MPI_INT, MPI_SUM, win);
    MPI_Rput(numbers, 1, MPI_INT, target, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_accumulate(NULL, 0, MPI_INT, fetched, COUNT, MPI_INT, target, 0, COUNT, MPI_INT,
                       MPI_NO_OP, win);
    MPI_Fetch_and_op(&addend, &before, MPI_INT, target, COUNT, MPI_SUM, win);
    MPI_Win_flush(target, win);
    for (int i = 1; i < COUNT; i++)
        CHECK(fetched[i] == 2 * numbers[i], "element %d: %d", i, fetched[i]);
    MPI_Win_unlock_all(win);
}

static double work(int scene)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 1000 * scene + i;
    puts_and_gets(MPI_LOCK_SHARED, 1);
    puts_and_gets(MPI_LOCK_EXCLUSIVE, 1);
    combinations(1, scene + 1);
    return MPI_Wtime() - begin;
}

static void compute(void)
{
    double end = MPI_Wtime() + AWAY_MS / 1e3;
    volatile double x = 1;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 100000; i++)
            x = x * 1.0000001 + i;
}

int main(int argc, char **argv)
{
    enum { SLEEPING, COMPUTING, STOPPED, SCENES };
    static const char *const names[] = {"sleeps", "computes", "is stopped"};
    test_begin(&argc, &argv);
    int pid = getpid(), begun = 1;
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    for (int scene = 0; scene < SCENES; scene++) {
        memory = window_memory((COUNT + 2) * sizeof *memory);
        win = window_over(memory, (COUNT + 2) * sizeof *memory, sizeof *memory);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 1) {
            MPI_Send(&begun, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            if (scene == COMPUTING)
                compute();
            else
                usleep(AWAY_MS * 1000);
            MPI_Recv(&begun, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(memory[COUNT] == 2 * (scene + 1) && memory[COUNT + 1] == scene + 1, "%d, %d",
                  memory[COUNT], memory[COUNT + 1]);
        } else if (test_rank == 0) {
            MPI_Recv(&begun, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (scene == STOPPED)
                kill(pid, SIGSTOP);
            usleep(50 * 1000); /* the target is away now */
            double took = work(scene);
            if (scene == STOPPED)
                kill(pid, SIGCONT);
            CHECK(took < AWAY_MS / 2e3, "it took %.3f s while the target %s", took, names[scene]);
            MPI_Send(&begun, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
        MPI_Win_free(&win);
        MPI_Free_mem(memory);
    }
    return test_end();
}
