/* Four ranks on two processors (H12: more ranks than processors). A rank that waits for an absent
 * rank sleeps and leaves the processor to others, and no call takes the milliseconds of a time
 * slice, as it would with busy waiting. */
#include "oversubscribe.h"

#include <unistd.h>

enum { AWAY_MS = 600, FENCES = 2000 };

static MPI_Win win;
static MPI_Group first, others;

static void fence(void)
{
    MPI_Win_fence(0, win);
}

static void complete_and_wait(void)
{
    if (test_rank == 0) {
        MPI_Win_post(others, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(first, 0, win);
        MPI_Win_complete(win);
    }
}

static void lock(void)
{
    if (test_rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Win_unlock(0, win);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        void (*wait)(void);
        const char *name;
    } cases[] = {{fence, "fence"}, {complete_and_wait, "complete"}, {lock, "lock"}};
    share_processors();
    test_begin(&argc, &argv);
    int *memory = window_memory(sizeof *memory);
    win = window_over(memory, sizeof *memory, sizeof *memory);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){0}, &first);
    MPI_Group_excl(world, 1, (int[]){0}, &others);
    double begin = MPI_Wtime();
    for (int i = 0; i < FENCES; i++)
        MPI_Win_fence(0, win);
    CHECK(MPI_Wtime() - begin < 10, "%d fences took %.1f s", FENCES, MPI_Wtime() - begin);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        if (test_rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Barrier(MPI_COMM_WORLD);
            usleep(AWAY_MS * 1000);
            MPI_Win_unlock(0, win);
            cases[i].wait();
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            double before = processor_seconds();
            long slept_before = sleeps();
            cases[i].wait();
            double used = processor_seconds() - before;
            long slept = sleeps() - slept_before;
            /* On a busy machine, a rank that does not sleep gets little processor time as well. */
            CHECK(used < AWAY_MS / 5e3, "waiting in %s used %.3f s", cases[i].name, used);
            CHECK(slept > 10, "waiting in %s slept %ld times", cases[i].name, slept);
        }
    }
    MPI_Group_free(&first);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
