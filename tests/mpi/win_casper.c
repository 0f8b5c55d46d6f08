/* What Casper does with windows: the last rank is the helper of the others. Their memory is one
 * window of MPI_Win_allocate_shared. The helper finds it by MPI_Win_shared_query, and exposes all
 * of it in several windows of MPI_Win_create: one per user for its locks, and one for fences, post
 * and start. Operations for a user go to the helper, at the place of the user's part. Fails if
 * they do not arrive in the user's memory, by whatever window and in whatever epoch. */
#include "test.h"

enum { USERS_MAX = 8, CELLS = 64, ROUNDS = 5 };

static int users, helper;
static long *mine, *all; /* `all`: of every user, in this rank */
static MPI_Win shared, locking[USERS_MAX], active;

static int cells_of(int user)
{
    return user == helper ? 0 : CELLS * (1 + user);
}

/* Where the part of a user begins, as a displacement of the helper's windows. */
static int start_of(int user)
{
    int start = 0;
    for (int u = 0; u < user; u++)
        start += cells_of(u);
    return start;
}

static void open_windows(void)
{
    MPI_Aint bytes;
    int unit;
    MPI_Win_allocate_shared(cells_of(test_rank) * (MPI_Aint)sizeof(long), sizeof(long),
                            MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &shared);
    MPI_Win_shared_query(shared, MPI_PROC_NULL, &bytes, &unit, &all);
    for (int u = 0; u < users; u++) {
        long *part;
        MPI_Win_shared_query(shared, u, &bytes, &unit, &part);
        CHECK(bytes == cells_of(u) * (MPI_Aint)sizeof(long) && unit == sizeof(long));
        CHECK(part == all + start_of(u), "the part of user %d begins at %ld", u, part - all);
    }
    bool helps = test_rank == helper;
    void *base = helps ? all : mine;
    bytes = (helps ? start_of(users) : cells_of(test_rank)) * (MPI_Aint)sizeof(long);
    for (int u = 0; u < users; u++)
        MPI_Win_create(base, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &locking[u]);
    MPI_Win_create(base, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &active);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, shared);
}

static void close_windows(void)
{
    MPI_Win_unlock_all(shared);
    for (int u = 0; u < users; u++)
        MPI_Win_free(&locking[u]);
    MPI_Win_free(&active);
    MPI_Win_free(&shared);
}

/* Loads and stores of all ranks that come before are visible to those that follow. */
static void meet(void)
{
    MPI_Win_sync(shared);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(shared);
}

static void clear(void)
{
    meet();
    memset(mine, 0, (size_t)cells_of(test_rank) * sizeof(long));
    meet();
}

/* Every cell of the users must be this, when a rank looks at its own part and at all. */
static void check(const char *how, long (*expected)(int user, int cell))
{
    meet();
    for (int u = 0; u < users; u++)
        for (int c = 0; c < cells_of(u); c++)
            CHECK(all[start_of(u) + c] == expected(u, c), "%s: cell %d of user %d is %ld, not %ld",
                  how, c, u, all[start_of(u) + c], expected(u, c));
    for (int c = 0; c < cells_of(test_rank); c++)
        CHECK(mine[c] == expected(test_rank, c), "%s: own cell %d is %ld", how, c, mine[c]);
    clear();
}

static long sum_of_users(int user, int cell)
{
    return users * (user + cell) + users * (users - 1) / 2;
}

static long written_by_one(int user, int cell)
{
    return 1000 * (cell % users) + 10 * user + cell;
}

/* ---- epochs ---- */

/* Every user adds to every cell of all users, and increments the first cell under a lock. */
static void lock(int round)
{
    long data[CELLS * USERS_MAX], before;
    for (int k = 0; k < users && test_rank != helper; k++) {
        int u = (test_rank + k) % users, n = cells_of(u);
        for (int c = 0; c < n; c++)
            data[c] = test_rank + u + c;
        MPI_Win_lock(round % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, helper, 0, locking[u]);
        MPI_Accumulate(data, n, MPI_LONG, helper, start_of(u), n, MPI_LONG, MPI_SUM, locking[u]);
        MPI_Fetch_and_op(&data[1], &before, MPI_LONG, helper, start_of(u), MPI_NO_OP, locking[u]);
        MPI_Win_flush(helper, locking[u]);
        CHECK(before >= test_rank + u && before <= sum_of_users(u, 0), "%ld", before);
        MPI_Win_unlock(helper, locking[u]);
    }
    check("lock", sum_of_users);
}

/* A fence of Casper: one epoch of lock_all, completed by a flush and a barrier. */
static void lock_all(void)
{
    MPI_Win_lock_all(MPI_MODE_NOCHECK, active);
    for (int u = 0; u < users; u++)
        for (int c = 0; c < cells_of(u); c++) {
            long data = written_by_one(u, c);
            if (c % users == test_rank) {
                MPI_Put(&data, 1, MPI_LONG, helper, start_of(u) + c, 1, MPI_LONG, active);
                MPI_Win_flush_local(helper, active);
            }
        }
    MPI_Win_flush_all(active);
    MPI_Win_sync(active);
    check("lock_all", written_by_one);
    MPI_Win_unlock_all(active);
}

/* This rank's cells of a user's part, which are every users-th. */
static MPI_Datatype own_cells(int user)
{
    MPI_Datatype cells;
    int first = test_rank, count = (cells_of(user) - first + users - 1) / users;
    MPI_Type_vector(count, 1, users, MPI_LONG, &cells);
    MPI_Type_commit(&cells);
    return cells;
}

static void write_own_cells(long *data)
{
    for (int u = 0; u < users && test_rank != helper; u++) {
        MPI_Datatype cells = own_cells(u);
        for (int c = 0; c < cells_of(u); c++)
            data[start_of(u) + c] = written_by_one(u, c);
        MPI_Put(&data[start_of(u) + test_rank], 1, cells, helper, start_of(u) + test_rank, 1, cells,
                active);
        MPI_Type_free(&cells);
    }
}

static void fence(void)
{
    long data[CELLS * USERS_MAX * USERS_MAX];
    MPI_Win_fence(0, active);
    write_own_cells(data);
    MPI_Win_fence(0, active);
    check("fence", written_by_one);
    for (int c = 0; c < cells_of(test_rank); c++)
        mine[c] = written_by_one(test_rank, c);
    MPI_Win_fence(0, active);
    int n = start_of(users);
    MPI_Get(data, n, MPI_LONG, helper, 0, n, MPI_LONG, active);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, active);
    for (int u = 0; u < users; u++)
        for (int c = 0; c < cells_of(u); c++)
            CHECK(data[start_of(u) + c] == written_by_one(u, c), "fence: %ld",
                  data[start_of(u) + c]);
    clear();
}

/* The helper exposes the memory of the users to them. */
static void post_start(void)
{
    long data[CELLS * USERS_MAX * USERS_MAX];
    MPI_Group ranks, others;
    MPI_Win_get_group(active, &ranks);
    if (test_rank == helper) {
        MPI_Group_excl(ranks, 1, &helper, &others);
        MPI_Win_post(others, 0, active);
        MPI_Win_wait(active);
    } else {
        MPI_Group_incl(ranks, 1, &helper, &others);
        MPI_Win_start(others, 0, active);
        write_own_cells(data);
        MPI_Win_complete(active);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&ranks);
    check("post and start", written_by_one);
}

/* A window over the same memory that a user, not the helper, exposes. */
static void lock_user(void)
{
    for (int u = 0; u < users && test_rank != helper; u++) {
        MPI_Datatype cells = own_cells(u);
        long data[CELLS * USERS_MAX];
        for (int c = 0; c < cells_of(u); c++)
            data[c] = written_by_one(u, c);
        MPI_Win_lock(MPI_LOCK_SHARED, u, 0, locking[u]);
        MPI_Accumulate(&data[test_rank], 1, cells, u, test_rank, 1, cells, MPI_REPLACE, locking[u]);
        MPI_Win_unlock(u, locking[u]);
        MPI_Type_free(&cells);
    }
    check("lock of a user", written_by_one);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    users = test_size - 1;
    helper = test_size - 1;
    for (int round = 0; round < ROUNDS; round++) {
        open_windows();
        clear();
        lock(round);
        lock_all();
        fence();
        post_start();
        lock_user();
        close_windows();
    }
    return test_end();
}
