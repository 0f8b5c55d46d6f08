/* Fences with every combination of assertions, with each rank late in turn. After a fence, the data
 * put before it are visible, and no data of a later epoch. */
#include "test.h"

#include <unistd.h>

enum { ROUNDS = 16 };

static int *memory; /* one element per rank, and one that the owner writes */
static MPI_Win win;

/* Put `value` into this rank's element at all ranks. */
static void put_to_all(int value)
{
    static int values[2];
    static int turn;
    int *at = &values[turn++ % 2];
    *at = value;
    for (int rank = 0; rank < test_size; rank++)
        MPI_Put(at, 1, MPI_INT, rank, test_rank, 1, MPI_INT, win);
}

static void all_are(int value, const char *when)
{
    for (int rank = 0; rank < test_size; rank++)
        CHECK(memory[rank] == value, "%s: from rank %d: %d, expected %d", when, rank, memory[rank],
              value);
}

static void come_late(int round)
{
    if (round % test_size == test_rank)
        usleep(3000);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    memory = window_memory((size_t)(test_size + 1) * sizeof *memory);
    win = window_over(memory, (size_t)(test_size + 1) * sizeof *memory, sizeof *memory);
    for (int round = 0; round < ROUNDS; round++) {
        /* Each bit of the round is one assertion, passed only where it is valid. */
        int store = round & 1 ? MPI_MODE_NOSTORE : 0, put = round & 2 ? MPI_MODE_NOPUT : 0;
        int precede = round & 4 ? MPI_MODE_NOPRECEDE : 0,
            succeed = round & 8 ? MPI_MODE_NOSUCCEED : 0;
        come_late(round);
        CHECK(MPI_Win_fence(precede, win) == MPI_SUCCESS);
        put_to_all(10 * round + 1);
        come_late(round + 1);
        CHECK(MPI_Win_fence(store, win) == MPI_SUCCESS);
        all_are(10 * round + 1, "after the first fence");
        /* The other ranks must not put before this rank has checked. */
        CHECK(MPI_Win_fence(store | put | MPI_MODE_NOPRECEDE, win) == MPI_SUCCESS);
        put_to_all(10 * round + 2);
        CHECK(MPI_Win_fence(put | store | succeed, win) == MPI_SUCCESS);
        all_are(10 * round + 2, "after the second");
        if (succeed) {
            CHECK_CLASS(MPI_Put(memory, 1, MPI_INT, 0, test_rank, 1, MPI_INT, win),
                        MPI_ERR_RMA_SYNC);
            CHECK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win) == MPI_SUCCESS);
            CHECK(MPI_Win_unlock(test_rank, win) == MPI_SUCCESS);
        }
        /* The other ranks get what the owner stored. */
        CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
        memory[test_size] = 1000 * round + test_rank;
        CHECK(MPI_Win_fence(put, win) == MPI_SUCCESS);
        int seen = -1;
        MPI_Get(&seen, 1, MPI_INT, test_next(), test_size, 1, MPI_INT, win);
        CHECK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, win) ==
              MPI_SUCCESS);
        CHECK(seen == 1000 * round + test_next(), "got %d", seen);
    }
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
