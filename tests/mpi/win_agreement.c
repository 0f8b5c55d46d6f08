/* Windows on communicators that already have a team, so that the ranks agree through shared memory:
 * all ranks agree although only some bring memory that can be shared, all pass invalid arguments,
 * and a window is freed while slower ranks still use it (H13: the same decision on all ranks; H24:
 * stale handles and mappings). */
#include "test.h"

#include <unistd.h>

enum { COUNT = 64, ROUNDS = 60 };

static void warm_up(MPI_Comm comm)
{
    for (int i = 0; i < 40; i++) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
}

/* Each rank puts its number to all ranks, one rank late; no rank waits before MPI_Win_free. */
static void use(MPI_Comm comm, MPI_Win win, const int *memory, int late)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == late)
        usleep(1000);
    MPI_Win_lock_all(0, win);
    for (int to = 0; to < size; to++) {
        int one = 1, value = 100 + rank;
        MPI_Put(&value, 1, MPI_INT, to, rank, 1, MPI_INT, win);
        MPI_Accumulate(&one, 1, MPI_INT, to, COUNT - 1, 1, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    for (int from = 0; from < size; from++)
        CHECK(memory[from] == 100 + from, "%d from %d", memory[from], from);
    CHECK(memory[COUNT - 1] == size, "%d of %d", memory[COUNT - 1], size);
}

static void try_on(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    warm_up(comm);
    int *heap = window_memory(COUNT * sizeof *heap), *other = malloc(COUNT * sizeof *other);
    for (int i = 0; i < ROUNDS; i++) {
        int *memory = i % 3 == 1 && rank == i % size ? other : heap;
        MPI_Win win;
        memset(memory, 0, COUNT * sizeof *memory);
        MPI_Win_create(memory, COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &win);
        MPI_Bcast(&size, 1, MPI_INT, 0, comm); /* a collective of the same team in between */
        use(comm, win, memory, i % (size + 1));
        if (i % 3 == 2) { /* invalid arguments on all ranks */
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            int result = MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, comm, &win);
            CHECK(result != MPI_SUCCESS, "a window of -1 bytes");
        }
        int sum = 0;
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == i * size, "round %d: sum %d", i, sum);
    }
    free(other);
    MPI_Free_mem(heap);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    try_on(MPI_COMM_WORLD);
    try_on(reversed);
    MPI_Comm_free(&reversed);
    return test_end();
}
