/* Windows in which the host does not check epochs run programs with wrong epochs as the host alone
 * does (H21: errors): operations and flushes outside epochs, fences inside others, epochs of
 * different kinds at once, freeing inside an epoch. They still report what the host reports, and
 * accumulates remain atomic. Argument: `shared` or `allocate`, how the windows are created. */
#include "test.h"

#include <unistd.h>

enum { WORDS = 8, TIMES = 20000 };

static bool shared;
static MPI_Win win;
static MPI_Group previous, next, self;
static int *memory, flag;

#define SYNC(call) CHECK_CLASS(call, MPI_ERR_RMA_SYNC)
#define FINE(call) CHECK_CLASS(call, MPI_SUCCESS)

static void open_window(void)
{
    if (shared)
        MPI_Win_allocate_shared(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                                &memory, &win);
    else
        MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                         &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, WORDS * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void free_window(void)
{
    FINE(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

static int put(int value, int target, int word)
{
    return MPI_Put(&value, 1, MPI_INT, target, word, 1, MPI_INT, win);
}

/* All ranks have put `value` plus their rank into this word of the next rank. */
static void expect(int word, int value, const char *after)
{
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    CHECK(memory[word] == value + test_previous(), "%s: %d", after, memory[word]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void operations(int target, int value)
{
    int seen = -1, one = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    FINE(put(value + test_rank, target, 0));
    FINE(MPI_Accumulate(&one, 1, MPI_INT, target, 1, 1, MPI_INT, MPI_SUM, win));
    FINE(MPI_Fetch_and_op(&one, &seen, MPI_INT, target, 2, MPI_SUM, win));
    FINE(MPI_Rput(&(int){value + test_rank}, 1, MPI_INT, target, 3, 1, MPI_INT, win, &request));
    FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FINE(MPI_Get(&seen, 1, MPI_INT, target, 3, 1, MPI_INT, win));
    FINE(MPI_Win_flush(target, win));
    CHECK(seen == value + test_rank, "got %d", seen);
}

static void outside_epochs(void)
{
    operations(test_next(), 100);
    FINE(MPI_Win_flush_local(test_next(), win));
    FINE(MPI_Win_flush_all(win));
    FINE(MPI_Win_flush_local_all(win));
    FINE(MPI_Win_flush(test_size, win));
    expect(0, 100, "put");
    expect(3, 100, "rput");
    CHECK(memory[1] == 1 && memory[2] == 1, "%d, %d", memory[1], memory[2]);
    SYNC(MPI_Win_unlock(test_rank, win));
    SYNC(MPI_Win_unlock_all(win));
    SYNC(MPI_Win_complete(win));
    SYNC(MPI_Win_wait(win));
    SYNC(MPI_Win_test(win, &flag));
}

static void within_lock_all(void)
{
    FINE(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    FINE(put(200 + test_rank, test_next(), 0));
    FINE(MPI_Win_fence(0, win));
    expect(0, 200, "fence within lock_all");
    FINE(put(201 + test_rank, test_next(), 0));
    FINE(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    expect(0, 201, "second fence");
    FINE(MPI_Win_unlock_all(win));
    SYNC(MPI_Win_unlock_all(win));
}

static void within_lock(void)
{
    FINE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    if (test_size > 1)
        SYNC(MPI_Win_unlock(test_rank, win));
    FINE(put(7, test_rank, 4));
    FINE(MPI_Win_flush(test_rank, win));
    FINE(put(300 + test_rank, test_next(), 0));
    FINE(MPI_Win_fence(0, win));
    expect(0, 300, "fence within lock");
    FINE(MPI_Win_unlock(test_next(), win));
    SYNC(MPI_Win_unlock(test_next(), win));
}

/* No fence has ended its epoch, which is in use. */
static void within_fence(void)
{
    FINE(MPI_Win_fence(0, win));
    FINE(put(400 + test_rank, test_next(), 0));
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    FINE(put(400 + test_rank, test_next(), 1));
    FINE(MPI_Win_unlock(test_next(), win));
    FINE(MPI_Win_fence(0, win));
    FINE(put(400 + test_rank, test_next(), 2));
    FINE(MPI_Win_lock_all(0, win));
    FINE(MPI_Win_unlock_all(win));
    FINE(MPI_Win_fence(0, win));
    FINE(put(400 + test_rank, test_next(), 3));
    FINE(MPI_Win_post(previous, 0, win));
    FINE(MPI_Win_start(next, 0, win));
    FINE(MPI_Win_complete(win));
    FINE(MPI_Win_wait(win));
    for (int word = 0; word < 4; word++)
        expect(word, 400, "fence and another epoch");
}

/* A target posts late. Whatever other epochs its origins have opened, their operations wait. */
static void post_late(int value)
{
    if (test_rank % 2)
        usleep(2000);
    memory[5] = value;
    MPI_Win_sync(win);
    FINE(MPI_Win_post(previous, 0, win));
}

static void get_and_complete(int value)
{
    int seen = -1;
    FINE(MPI_Get(&seen, 1, MPI_INT, test_next(), 5, 1, MPI_INT, win));
    FINE(MPI_Win_flush(test_next(), win));
    CHECK(seen == value, "got %d, not %d, which the target stored before its post", seen, value);
    FINE(MPI_Win_complete(win));
    SYNC(MPI_Win_complete(win));
    FINE(MPI_Win_wait(win));
    SYNC(MPI_Win_wait(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void start_beside_others(int value)
{
    FINE(MPI_Win_lock_all(0, win));
    post_late(value);
    FINE(MPI_Win_start(next, 0, win));
    get_and_complete(value);
    FINE(MPI_Win_unlock_all(win));

    FINE(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    post_late(++value);
    FINE(MPI_Win_start(next, 0, win));
    get_and_complete(value);
    FINE(MPI_Win_unlock(test_next(), win));
}

static void others_beside_start(int value)
{
    post_late(value);
    SYNC(MPI_Win_post(previous, 0, win));
    FINE(MPI_Win_start(next, 0, win));
    SYNC(MPI_Win_start(next, 0, win));
    FINE(put(7, test_rank, 4)); /* not in the group, unless there is one rank */
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    get_and_complete(value);
    FINE(MPI_Win_unlock(test_next(), win));

    post_late(++value);
    FINE(MPI_Win_start(next, 0, win));
    FINE(MPI_Win_lock_all(0, win));
    get_and_complete(value);
    FINE(MPI_Win_unlock_all(win));

    post_late(++value);
    FINE(MPI_Win_start(next, 0, win));
    FINE(MPI_Win_fence(0, win));
    get_and_complete(value);
}

/* Half of the ranks increment a counter under an exclusive lock, the others without any. */
static void atomicity(void)
{
    int one = 1, seen;
    for (int i = 0; i < TIMES; i++) {
        if (test_rank % 2 == 0)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        for (int j = 0; j < 4; j++)
            MPI_Fetch_and_op(&one, &seen, MPI_INT, 0, 6, MPI_SUM, win);
        if (test_rank % 2 == 0)
            MPI_Win_unlock(0, win);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(test_rank || memory[6] == 4 * TIMES * test_size, "%d increments are lost",
          4 * TIMES * test_size - memory[6]);
}

static void begin_lock_all(void)
{
    FINE(MPI_Win_lock_all(0, win));
}

static void begin_exclusive(void)
{
    FINE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win));
}

static void begin_used_fence(void)
{
    FINE(MPI_Win_fence(0, win));
}

static void begin_start_and_post(void)
{
    FINE(MPI_Win_post(self, 0, win));
    FINE(MPI_Win_start(self, 0, win));
}

/* The next window has no trace of the epochs of the freed one. */
static void freeing(void)
{
    void (*const begin[])(void) = {begin_lock_all, begin_exclusive, begin_used_fence,
                                   begin_start_and_post};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        open_window();
        begin[i]();
        FINE(put(7, test_rank, 0));
        free_window();
        open_window();
        SYNC(MPI_Win_unlock_all(win));
        SYNC(MPI_Win_complete(win));
        SYNC(MPI_Win_wait(win));
        begin_exclusive();
        FINE(put(500 + test_rank, test_next(), 0));
        FINE(MPI_Win_unlock(test_next(), win));
        expect(0, 500, "new window");
        free_window();
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shared = argc > 1 && !strcmp(argv[1], "shared");
    MPI_Group world;
    int before = test_previous(), after = test_next();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &before, &previous);
    MPI_Group_incl(world, 1, &after, &next);
    MPI_Group_incl(world, 1, &test_rank, &self);
    open_window();
    for (int round = 0; round < 3; round++) {
        memory[1] = memory[2] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        outside_epochs();
        within_lock_all();
        within_lock();
        within_fence();
        start_beside_others(10 * round + 1);
        others_beside_start(10 * round + 5);
    }
    memory[6] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    atomicity();
    free_window();
    freeing();
    MPI_Group_free(&self);
    MPI_Group_free(&next);
    MPI_Group_free(&previous);
    MPI_Group_free(&world);
    return test_end();
}
