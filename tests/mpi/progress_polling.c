/* A rank polls with each accelerated call that never waits, until all other ranks have told it to
 * stop, which requires host progress at the polling rank. Hangs if such a call never drives the
 * host's progress (H10: host progress while polling). */
#include "progress.h"

static MPI_Win win;
static int *memory, scratch, none;

static void fetch_and_op(void)
{
    MPI_Fetch_and_op(&none, &scratch, MPI_INT, 0, 1, MPI_NO_OP, win);
}

static void compare_and_swap(void)
{
    MPI_Compare_and_swap(&none, &none, &scratch, MPI_INT, 0, 1, win);
}

static void accumulate(void)
{
    MPI_Accumulate(&none, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
}

static void get_and_flush(void)
{
    MPI_Get(&scratch, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
}

static void get(void)
{
    MPI_Get(&scratch, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
}

static void put(void)
{
    MPI_Put(&none, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
}

static void flush_all(void)
{
    MPI_Win_flush_all(win);
}

static void flush_local(void)
{
    MPI_Win_flush_local(1, win);
}

static void sync_only(void)
{
    MPI_Win_sync(win);
}

int main(int argc, char **argv)
{
    static const struct {
        void (*poll)(void);
        const char *name;
    } cases[] = {{fetch_and_op, "Fetch_and_op"},
                 {compare_and_swap, "Compare_and_swap"},
                 {accumulate, "Accumulate"},
                 {get_and_flush, "Get and flush"},
                 {get, "Get"},
                 {put, "Put"},
                 {flush_all, "flush_all"},
                 {flush_local, "flush_local"},
                 {sync_only, "sync"}};
    test_begin(&argc, &argv);
    large = malloc(LARGE);
    memory = window_memory(2 * sizeof *memory);
    win = window_over(memory, 2 * sizeof *memory, sizeof *memory);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        MPI_Request requests[2];
        memset(large, test_rank == 0, LARGE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_rank == 0) {
            progress_begin(1, requests);
            double end = MPI_Wtime() + 5;
            /* The flag is in local memory, so reading it needs no MPI call. */
            while (*(volatile int *)memory < (i + 1) * (test_size - 1) && MPI_Wtime() < end)
                cases[i].poll();
            CHECK(MPI_Wtime() < end, "%s: no progress", cases[i].name);
            progress_end(requests);
        } else {
            progress_complete(0, 1);
            int one = 1;
            MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);

    /* Locking and unlocking, too. */
    MPI_Request requests[2];
    MPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0) {
        progress_begin(1, requests);
        double end = MPI_Wtime() + 5;
        for (int other = 1, seen = -1; other < test_size && MPI_Wtime() < end;
             other += seen == 77) {
            MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
            MPI_Get(&seen, 1, MPI_INT, other, 0, 1, MPI_INT, win);
            MPI_Win_unlock(other, win);
        }
        CHECK(MPI_Wtime() < end, "lock and unlock: no progress");
        progress_end(requests);
    } else {
        progress_complete(0, 1);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_rank, 0, win);
        memory[0] = 77;
        MPI_Win_unlock(test_rank, win);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    free(large);
    return test_end();
}
