/* All ranks accumulate into the same elements with every call of the accumulate family, one element
 * or many at a time. An update is lost if two calls use different means of mutual exclusion (H18:
 * one atomicity for every access path). */
#include "test.h"

enum { COUNT = 64, ROUNDS = 400 };

static int64_t *memory, ones[COUNT], many[COUNT];
static MPI_Win win;

/* Add one to element 0 with compare-and-swap. */
static void add_by_swapping(int target)
{
    int64_t seen = 0, next, before = -1;
    while (before != seen) {
        MPI_Win_flush(target, win);
        if (before >= 0)
            seen = before;
        next = seen + 1;
        MPI_Compare_and_swap(&next, &seen, &before, MPI_INT64_T, target, 0, win);
        MPI_Win_flush(target, win);
    }
}

static void round_of(int i, int target)
{
    int64_t one = 1, before;
    MPI_Request request;
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Get_accumulate(ones, 3, MPI_INT64_T, many, 3, MPI_INT64_T, target, 0, 3, MPI_INT64_T,
                       MPI_SUM, win);
    if (i % 3 == test_rank % 3)
        MPI_Accumulate(ones, COUNT, MPI_INT64_T, target, 0, COUNT, MPI_INT64_T, MPI_SUM, win);
    else if (i % 7 == 0)
        MPI_Get_accumulate(ones, COUNT, MPI_INT64_T, many, COUNT, MPI_INT64_T, target, 0, COUNT,
                           MPI_INT64_T, MPI_SUM, win);
    else if (i % 5 == 0)
        add_by_swapping(target);
    MPI_Raccumulate(&one, 1, MPI_INT64_T, target, 2, 1, MPI_INT64_T, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The total that a rank adds to element `e`. */
static int64_t share(int rank, int e)
{
    int64_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        bool whole = i % 3 == rank % 3 || i % 7 == 0;
        sum += (e == 0) + (e == 1) + (e == 2) + (e < 3) + whole;
        sum += !whole && i % 5 == 0 && e == 0;
    }
    return sum;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    memory = window_memory(COUNT * sizeof *memory);
    win = window_over(memory, COUNT * sizeof *memory, sizeof *memory);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++)
        for (int rank = 0; rank < test_size; rank++)
            round_of(i, (rank + test_rank) % test_size);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int e = 0; e < COUNT; e++) {
        int64_t expected = 0;
        for (int rank = 0; rank < test_size; rank++)
            expected += share(rank, e);
        CHECK(memory[e] == expected, "element %d: %ld of %ld", e, (long)memory[e], (long)expected);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
