/* A misplaced synchronisation call returns MPI_ERR_RMA_SYNC and changes nothing: the open epoch
 * stays open, and the next correct call succeeds (H21: errors). Every rank makes the same mistakes,
 * so no rank waits for a rank whose call has failed. Argument: `create`, `allocate` or `shared`,
 * how the window is created; sync_lenient tests windows in which the host does not check epochs. */
#include "test.h"

static MPI_Win win;
static MPI_Group self;
static int *memory, *created, one = 1, flag;

#define SYNC(call) CHECK_CLASS(call, MPI_ERR_RMA_SYNC)
#define FINE(call) CHECK_CLASS(call, MPI_SUCCESS)

static int put(int target)
{
    return MPI_Put(&one, 1, MPI_INT, target, 0, 1, MPI_INT, win);
}

static void everything_ends_nothing(void)
{
    SYNC(MPI_Win_complete(win));
    SYNC(MPI_Win_wait(win));
    SYNC(MPI_Win_test(win, &flag));
    SYNC(MPI_Win_unlock(test_rank, win));
    SYNC(MPI_Win_unlock_all(win));
    SYNC(MPI_Win_flush(test_rank, win));
    SYNC(MPI_Win_flush_local(test_rank, win));
    SYNC(MPI_Win_flush_all(win));
    SYNC(MPI_Win_flush_local_all(win));
    SYNC(put(test_rank));
}

/* The handler of the window reports wrong handles, too. */
static void no_group(void)
{
    CHECK_CLASS(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Win_post((MPI_Group)0, 0, win), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Win_start((MPI_Group)0, 0, win), MPI_ERR_GROUP);
    everything_ends_nothing();
}

static void within_lock(void)
{
    int other = test_next();
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, other, MPI_MODE_NOCHECK, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_unlock_all(win));
    SYNC(MPI_Win_start(self, 0, win));
    SYNC(MPI_Win_complete(win));
    SYNC(MPI_Win_fence(0, win));
    SYNC(MPI_Win_free(&win));
    if (other != test_rank) {
        SYNC(MPI_Win_unlock(test_rank, win));
        if (host_is("Open MPI")) { /* lock_other_target tests other hosts */
            SYNC(MPI_Win_flush(test_rank, win));
            SYNC(put(test_rank));
        }
    }
    FINE(put(other));
    FINE(MPI_Win_flush(other, win));
    FINE(MPI_Win_unlock(other, win));
    SYNC(MPI_Win_unlock(other, win));
}

static void within_lock_all(void)
{
    FINE(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    SYNC(MPI_Win_unlock(test_next(), win));
    SYNC(MPI_Win_start(self, 0, win));
    SYNC(MPI_Win_fence(0, win));
    SYNC(MPI_Win_free(&win));
    FINE(put(test_next()));
    FINE(MPI_Win_flush_all(win));
    FINE(MPI_Win_unlock_all(win));
    SYNC(MPI_Win_unlock_all(win));
}

static void within_start_and_post(void)
{
    FINE(MPI_Win_post(self, 0, win));
    SYNC(MPI_Win_post(self, 0, win));
    SYNC(MPI_Win_fence(0, win));
    SYNC(MPI_Win_free(&win));
    FINE(MPI_Win_start(self, 0, win));
    SYNC(MPI_Win_start(self, 0, win));
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_flush(test_rank, win));
    SYNC(MPI_Win_fence(0, win));
    SYNC(MPI_Win_free(&win));
    if (test_size > 1)
        SYNC(put(test_next())); /* not in the group */
    FINE(MPI_Win_test(win, &flag));
    CHECK(!flag);
    FINE(put(test_rank));
    FINE(MPI_Win_complete(win));
    SYNC(MPI_Win_complete(win));
    FINE(MPI_Win_wait(win));
    SYNC(MPI_Win_wait(win));
}

static void within_fence(void)
{
    FINE(MPI_Win_fence(0, win));
    SYNC(MPI_Win_flush(test_rank, win));
    SYNC(MPI_Win_unlock(test_rank, win));
    SYNC(MPI_Win_complete(win));
    SYNC(MPI_Win_wait(win));
    FINE(put(test_next()));
    /* No fence has ended this epoch, which has been used. */
    SYNC(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    SYNC(MPI_Win_lock_all(0, win));
    SYNC(MPI_Win_start(self, 0, win));
    FINE(MPI_Win_fence(0, win));
    /* A fence epoch without operations ends when another access epoch begins. */
    FINE(MPI_Win_lock(MPI_LOCK_SHARED, test_next(), 0, win));
    FINE(MPI_Win_unlock(test_next(), win));
    SYNC(put(test_rank));
    FINE(MPI_Win_fence(0, win));
    FINE(MPI_Win_lock_all(0, win));
    FINE(MPI_Win_unlock_all(win));
    SYNC(put(test_rank));
    FINE(MPI_Win_fence(0, win));
    FINE(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    FINE(MPI_Win_complete(win));
    SYNC(put(test_rank));
    FINE(MPI_Win_fence(0, win));
    FINE(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    FINE(MPI_Win_wait(win));
    FINE(put(test_rank)); /* an exposure epoch does not end it */
    FINE(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void open_window(const char *kind)
{
    if (!strcmp(kind, "allocate"))
        MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                         &win);
    else if (!strcmp(kind, "shared"))
        MPI_Win_allocate_shared(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                                &memory, &win);
    else
        win = window_over(created = memory = window_memory(sizeof *memory), sizeof *memory,
                          sizeof *memory);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    open_window(argc > 1 ? argv[1] : "create");
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &test_rank, &self);
    void (*const cases[])(void) = {
        everything_ends_nothing, no_group,    within_lock, within_lock_all,
        within_start_and_post,   within_fence};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            cases[i]();
            MPI_Barrier(MPI_COMM_WORLD);
            int expected = i > 1;
            CHECK(*memory == expected, "case %d left %d", (int)i, *memory);
            *memory = 0;
            MPI_Barrier(MPI_COMM_WORLD);
        }
    everything_ends_nothing();
    MPI_Group_free(&self);
    MPI_Group_free(&world);
    FINE(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    if (created)
        MPI_Free_mem(created);
    return test_end();
}
