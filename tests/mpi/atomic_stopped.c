/* A rank is stopped, perhaps in the midst of combining a few elements, while another begins to
 * combine many; it goes on while that one is at it: no update is lost (H18). In window after
 * window, since only the first operation on many is special. */
#include "test.h"

#include <signal.h>
#include <unistd.h>

enum { FEW = 8, MANY = 12, WINDOWS = 60, ROUNDS = 2000 };

static MPI_Win win;
static uint64_t *memory; /* MANY products and a flag */
static uint64_t threes[MANY];

/* Until the flag at home is set. */
static int combine_few(int target)
{
    int times = 0;
    do
        MPI_Accumulate(threes, FEW, MPI_UINT64_T, target, 0, FEW, MPI_UINT64_T, MPI_PROD, win);
    while (++times && !*(volatile uint64_t *)&memory[MANY]);
    return times;
}

static int combine_many(int target, int pid)
{
    uint64_t flag = 1;
    usleep(50);
    kill(pid, SIGSTOP);
    usleep(100);
    kill(pid, SIGCONT);
    for (int i = 0; i < ROUNDS; i++)
        MPI_Accumulate(threes, MANY, MPI_UINT64_T, target, 0, MANY, MPI_UINT64_T, MPI_PROD, win);
    MPI_Put(&flag, 1, MPI_UINT64_T, 1, MANY, 1, MPI_UINT64_T, win);
    MPI_Win_flush(1, win);
    return ROUNDS;
}

static uint64_t power_of_three(int exponent)
{
    uint64_t power = 1;
    while (exponent--)
        power *= 3;
    return power;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int pid = getpid(), times[2];
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    memory = window_memory((MANY + 1) * sizeof *memory);
    for (int i = 0; i < MANY; i++)
        threes[i] = 3;
    for (int w = 0; w < WINDOWS; w++) {
        int target = w % 2;
        for (int i = 0; i < MANY; i++)
            memory[i] = 1;
        memory[MANY] = 0;
        win = window_over(memory, (MANY + 1) * sizeof *memory, sizeof *memory);
        MPI_Win_lock_all(0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        int own = test_rank ? combine_few(target) : combine_many(target, pid);
        MPI_Win_unlock_all(win);
        MPI_Allgather(&own, 1, MPI_INT, times, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; test_rank == target && i < MANY; i++)
            CHECK(memory[i] == power_of_three(times[0] + (i < FEW ? times[1] : 0)),
                  "window %d, element %d", w, i);
        MPI_Win_free(&win);
    }
    MPI_Free_mem(memory);
    return test_end();
}
