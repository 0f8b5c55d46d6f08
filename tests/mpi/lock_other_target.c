/* MPICH does not check which target is locked, so a program that locks one target and accesses or
 * flushes another runs there (H21: errors). After the unlock, the same calls are errors. Arguments:
 * `create`, `allocate` or `shared`, how the window is created; `all`: accumulates, too, which are
 * atomic, but fail with some devices of MPICH alone. */
#include "test.h"

enum { WORDS = 8, TIMES = 20000 };

static MPI_Win win;
static int *memory, *created;

#define SYNC(call) CHECK_CLASS(call, MPI_ERR_RMA_SYNC)
#define FINE(call) CHECK_CLASS(call, MPI_SUCCESS)

static void open_window(const char *kind)
{
    MPI_Aint bytes = WORDS * sizeof(int);
    if (!strcmp(kind, "shared"))
        MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    else if (!strcmp(kind, "allocate"))
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    else
        win = window_over(created = memory = window_memory(WORDS * sizeof(int)), (size_t)bytes,
                          sizeof(int));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, WORDS * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
}

static int put(const int *value, int target)
{
    return MPI_Put(value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
}

/* Lock this rank, and access the next one. */
static void operations(int kind, int value)
{
    int seen = -1, mine = value + test_rank;
    MPI_Request request = MPI_REQUEST_NULL;
    FINE(MPI_Win_lock(kind, test_rank, 0, win));
    FINE(MPI_Win_flush(test_next(), win));
    FINE(put(&mine, test_next()));
    FINE(MPI_Win_flush(test_next(), win));
    FINE(MPI_Get(&seen, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win));
    FINE(MPI_Win_flush_local(test_next(), win));
    CHECK(seen == mine, "got %d, expected %d", seen, mine);
    FINE(MPI_Rput(&mine, 1, MPI_INT, test_next(), 1, 1, MPI_INT, win, &request));
    FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FINE(MPI_Win_flush(test_next(), win));
    FINE(MPI_Win_unlock(test_rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int word = 0; word < 2; word++)
        CHECK(memory[word] == value + test_previous(), "word %d: %d", word, memory[word]);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Only a lock admits this, and it admits nothing else. */
static void errors(void)
{
    int minus = -1;
    SYNC(put(&minus, test_next()));
    SYNC(MPI_Win_flush(test_next(), win));
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_fence(0, win));
    SYNC(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    CHECK_CLASS(MPI_Win_flush(test_size, win), MPI_ERR_RANK);
    FINE(MPI_Win_flush(test_rank, win));
    FINE(MPI_Win_unlock(test_next(), win));
    SYNC(put(&minus, test_rank));
    SYNC(put(&minus, test_next()));
    SYNC(MPI_Win_flush(test_rank, win));
}

/* Half of the ranks increment a counter under its exclusive lock, the others under locks of their
 * own. */
static void atomicity(void)
{
    int one = 1, seen, counts[2] = {1, 1};
    int target = test_rank % 2 ? test_rank : 0;
    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        for (int j = 0; j < 4; j++)
            MPI_Fetch_and_op(&one, &seen, MPI_INT, 0, 6, MPI_SUM, win);
        MPI_Accumulate(counts, 2, MPI_INT, 0, 4, 2, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(test_rank || (memory[4] == TIMES * test_size && memory[5] == TIMES * test_size &&
                        memory[6] == 4 * TIMES * test_size),
          "%d, %d, %d increments", memory[4], memory[5], memory[6]);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    open_window(argv[1]);
    errors();
    for (int round = 0; round < 3; round++) {
        operations(MPI_LOCK_EXCLUSIVE, 100 * round);
        operations(MPI_LOCK_SHARED, 100 * round + 50);
        errors();
    }
    if (argc > 2)
        atomicity();
    errors();
    FINE(MPI_Win_free(&win));
    if (created)
        MPI_Free_mem(created);
    return test_end();
}
