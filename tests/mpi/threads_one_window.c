/* Many threads of each rank in one epoch of one window, more threads than the window has lines for
 * atomic operations, some of them in bulk operations. No update is lost, and each thread gets its
 * own results (H18: atomicity of accumulates; H25: threads). */
#include "threads.h"

#include <stdatomic.h>

enum { THREADS = 20, ROUNDS = 120, COUNT = 24 };

static int64_t *memory; /* a counter, COUNT elements to accumulate into, one slot per thread */
static MPI_Win win;
static _Atomic int wrong;

static void *work(void *number)
{
    int own = (int)(intptr_t)number, offset = 1 + COUNT + test_rank * THREADS + own;
    int64_t one = 1, before, value, seen, ones[COUNT], fetched[COUNT];
    MPI_Request request;
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        int target = (i + own) % test_size;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, win);
        value = 1000 * own + i;
        MPI_Put(&value, 1, MPI_INT64_T, target, offset, 1, MPI_INT64_T, win);
        MPI_Win_flush(target, win);
        seen = -1;
        MPI_Get(&seen, 1, MPI_INT64_T, target, offset, 1, MPI_INT64_T, win);
        MPI_Win_flush_local(target, win);
        wrong += seen != value;
        if (i % 8 == own % 8)
            MPI_Accumulate(ones, COUNT, MPI_INT64_T, target, 1, COUNT, MPI_INT64_T, MPI_SUM, win);
        else if (i % 8 == 7 - own % 8) {
            MPI_Rget_accumulate(ones, COUNT, MPI_INT64_T, fetched, COUNT, MPI_INT64_T, target, 1,
                                COUNT, MPI_INT64_T, MPI_NO_OP, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    size_t bytes = (size_t)(1 + COUNT + test_size * THREADS) * sizeof *memory;
    memory = window_memory(bytes);
    win = window_over(memory, bytes, sizeof *memory);
    MPI_Win_lock_all(0, win);
    threads_run(THREADS, work);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t sums[2] = {memory[0], memory[1]}, totals[2];
    MPI_Allreduce(sums, totals, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(!wrong, "%d gets did not see this thread's put", (int)wrong);
    int64_t all = (int64_t)test_size * THREADS * ROUNDS;
    CHECK(totals[0] == all, "counted %ld of %ld", (long)totals[0], (long)all);
    CHECK(totals[1] == all / 8, "combined %ld of %ld", (long)totals[1], (long)all / 8);
    for (int i = 1; i <= COUNT; i++)
        CHECK(memory[i] == memory[1], "element %d: %ld, %ld", i, (long)memory[i], (long)memory[1]);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
