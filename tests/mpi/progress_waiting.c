/* A rank waits in each accelerated call that waits, while all other ranks need it inside the host.
 * Hangs if a wait does not drive the host's progress (H9: host progress while waiting). */
#include "progress.h"

static MPI_Win win, other;
static MPI_Group zero, one;
static int *memory, two = 2;

static void fence(void)
{
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* Rank 1 holds the lock that rank 0 requests. */
static void hold(void)
{
    if (test_rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
}

static void let_go(void)
{
    if (test_rank == 1)
        MPI_Win_unlock(1, win);
}

static void lock_exclusive(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Win_unlock(1, win);
}

static void lock_shared(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Win_unlock(1, win);
}

static void lock_all(void)
{
    MPI_Win_lock_all(0, win);
    MPI_Put(&two, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
}

static void hold_all(void)
{
    if (test_rank == 1)
        MPI_Win_lock_all(0, win);
}

static void let_go_all(void)
{
    if (test_rank == 1)
        MPI_Win_unlock_all(win);
}

static void start(void)
{
    MPI_Win_start(one, 0, win);
    MPI_Put(&two, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
}

static void start_and_complete(void)
{
    MPI_Win_start(one, 0, win);
    MPI_Win_complete(win);
}

static void post(void)
{
    if (test_rank == 1) {
        MPI_Win_post(zero, 0, win);
        MPI_Win_wait(win);
    }
}

static void post_and_wait(void)
{
    MPI_Win_post(one, 0, win);
    MPI_Win_wait(win);
}

static void post_and_test(void)
{
    int done = 0;
    MPI_Win_post(one, 0, win);
    while (!done)
        MPI_Win_test(win, &done);
}

static void complete(void)
{
    if (test_rank == 1) {
        MPI_Win_start(zero, 0, win);
        MPI_Win_complete(win);
    }
}

static void create_other(void)
{
    other = window_over(memory, sizeof *memory, 1);
}

static void free_other(void)
{
    MPI_Win_free(&other);
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    /* Set-up; the call in which rank 0 waits; what the other ranks do after the host has completed.
     */
    static const struct {
        void (*before)(void), (*wait)(void), (*after)(void);
        const char *name;
    } cases[] = {{nothing, fence, fence, "fence"},
                 {hold, lock_exclusive, let_go, "exclusive lock"},
                 {hold, lock_shared, let_go, "shared lock"},
                 {hold, lock_all, let_go, "lock_all"},
                 {hold_all, lock_exclusive, let_go_all, "exclusive lock against lock_all"},
                 {nothing, start, post, "put after start"},
                 {nothing, start_and_complete, post, "complete"},
                 {nothing, post_and_wait, complete, "wait"},
                 {nothing, post_and_test, complete, "test"},
                 {create_other, free_other, free_other, "free"}};
    test_begin(&argc, &argv);
    large = malloc(LARGE);
    memory = window_memory(sizeof *memory);
    win = window_over(memory, sizeof *memory, sizeof *memory);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){0}, &zero);
    MPI_Group_incl(world, 1, (int[]){1}, &one);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name))
            continue;
        MPI_Request requests[2];
        memset(large, test_rank == 0, LARGE);
        cases[i].before();
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0) {
            progress_begin(1, requests);
            double begin = MPI_Wtime();
            cases[i].wait();
            CHECK(MPI_Wtime() - begin < 20, "%s", cases[i].name);
            progress_end(requests);
        } else {
            progress_complete(0, 1);
            cases[i].after();
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&zero);
    MPI_Group_free(&one);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    free(large);
    return test_end();
}
