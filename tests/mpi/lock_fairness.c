/* No rank starves. Rank 0 acquires its lock several times within a bounded time, while all other
 * ranks acquire theirs without pause: exclusive against shared and lock_all, and the reverse, and
 * exclusive locks only. Every other rank gets its lock at least once. */
#include "test.h"

#include <unistd.h>

enum { TIMES = 10 };
enum kind { EXCLUSIVE, SHARED, ALL };
static const char *const names[] = {"exclusive", "shared", "all"};

static MPI_Win win, flags;

static void take(enum kind kind, bool hold)
{
    if (kind == ALL)
        MPI_Win_lock_all(0, win);
    else
        MPI_Win_lock(kind == SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
    int seen;
    MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    if (hold) /* longer than the other ranks' pauses, so that epochs overlap */
        usleep(500);
    if (kind == ALL)
        MPI_Win_unlock_all(win);
    else
        MPI_Win_unlock(0, win);
}

static int ended(int scene)
{
    int seen, nothing = 0;
    MPI_Fetch_and_op(&nothing, &seen, MPI_INT, 0, 0, MPI_NO_OP, flags);
    MPI_Win_flush(0, flags);
    return seen > scene;
}

static void scene(int number, enum kind first, enum kind others)
{
    int one = 1, taken = 0, all[64];
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        double longest = 0;
        for (int i = 0; i < TIMES; i++) {
            double start = MPI_Wtime();
            take(first, false);
            double waited = MPI_Wtime() - start;
            longest = waited > longest ? waited : longest;
        }
        CHECK(longest < 5, "%s among %s: waited for %.1f s", names[first], names[others], longest);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, flags);
        MPI_Win_flush(0, flags);
    } else {
        double give_up = MPI_Wtime() + 10;
        while ((!ended(number) && MPI_Wtime() < give_up) || !taken) {
            take(others, true);
            taken++;
        }
    }
    MPI_Gather(&taken, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int rank = 1; test_rank == 0 && rank < test_size; rank++)
        CHECK(all[rank] > 0, "%s among %s: rank %d never had it", names[first], names[others],
              rank);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int *memory = window_memory(sizeof *memory), *flag = window_memory(sizeof *flag);
    win = window_over(memory, sizeof *memory, sizeof *memory);
    flags = window_over(flag, sizeof *flag, sizeof *flag);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, flags);
    static const enum kind scenes[][2] = {{EXCLUSIVE, SHARED},    {EXCLUSIVE, ALL},
                                          {EXCLUSIVE, EXCLUSIVE}, {SHARED, EXCLUSIVE},
                                          {ALL, EXCLUSIVE},       {SHARED, ALL}};
    for (int i = 0; i < (int)(sizeof scenes / sizeof *scenes); i++)
        scene(i, scenes[i][0], scenes[i][1]);
    MPI_Win_unlock_all(flags);
    MPI_Win_free(&flags);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    MPI_Free_mem(flag);
    return test_end();
}
