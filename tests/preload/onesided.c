/* One of every one-sided call, with every kind of epoch, from each rank to the next. The scripts of
 * this folder run it in unusual environments.
 *
 *   onesided             windows on the world
 *   onesided halves      on communicators of two consecutive ranks
 *   onesided alone       on a communicator of each rank alone
 */
#include "test.h"

enum { N = 64 };

struct window {
    MPI_Win win;
    long *memory; /* N elements of this rank, then N for the sums */
    int me, next, previous, size;
};

static void put_in_fences(struct window *w)
{
    long mine[N];
    for (int i = 0; i < N; i++)
        mine[i] = 1000 * w->me + i;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    MPI_Put(mine, N, MPI_LONG, w->next, 0, N, MPI_LONG, w->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    for (int i = 0; i < N; i++)
        CHECK(w->memory[i] == 1000 * w->previous + i, "%d: %ld", i, w->memory[i]);
}

static MPI_Group group_of(MPI_Win win, int rank)
{
    MPI_Group all, one;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &rank, &one);
    MPI_Group_free(&all);
    return one;
}

static void get_by_post_and_start(struct window *w)
{
    long theirs[N];
    MPI_Group origin = group_of(w->win, w->previous), target = group_of(w->win, w->next);
    MPI_Win_post(origin, 0, w->win);
    MPI_Win_start(target, 0, w->win);
    MPI_Get(theirs, N, MPI_LONG, w->next, 0, N, MPI_LONG, w->win);
    MPI_Win_complete(w->win);
    MPI_Win_wait(w->win);
    for (int i = 0; i < N; i++)
        CHECK(theirs[i] == 1000 * w->me + i, "%d: %ld", i, theirs[i]);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
}

/* All ranks add at all ranks, under either kind of lock. */
static void add_under_locks(struct window *w)
{
    long one = 1, before, sum, zero = 0;
    for (int r = 0; r < w->size; r++) {
        MPI_Win_lock(MPI_LOCK_SHARED, r, 0, w->win);
        MPI_Accumulate(&one, 1, MPI_LONG, r, N, 1, MPI_LONG, MPI_SUM, w->win);
        MPI_Win_flush(r, w->win);
        MPI_Fetch_and_op(&one, &before, MPI_LONG, r, N, MPI_SUM, w->win);
        MPI_Win_flush_local(r, w->win);
        CHECK(before >= 1 && before < 2 * w->size, "%ld", before);
        MPI_Win_unlock(r, w->win);

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, w->win);
        MPI_Get(&sum, 1, MPI_LONG, r, N + 1, 1, MPI_LONG, w->win);
        MPI_Win_flush(r, w->win);
        sum++;
        MPI_Put(&sum, 1, MPI_LONG, r, N + 1, 1, MPI_LONG, w->win);
        MPI_Win_unlock(r, w->win);
    }
    MPI_Win_lock_all(0, w->win);
    for (int r = 0; r < w->size; r++)
        MPI_Get_accumulate(&one, 1, MPI_LONG, &zero, 1, MPI_LONG, r, N + 2, 1, MPI_LONG, MPI_SUM,
                           w->win);
    MPI_Win_flush_all(w->win);
    MPI_Win_unlock_all(w->win);
}

static void swap(struct window *w)
{
    long none = 0, mine = 5 + w->me, before = -1;
    MPI_Win_lock_all(0, w->win);
    MPI_Compare_and_swap(&mine, &none, &before, MPI_LONG, w->next, N + 5, w->win);
    MPI_Win_flush(w->next, w->win);
    CHECK(before == 0, "%ld", before);
    MPI_Win_unlock_all(w->win);
}

static void by_requests(struct window *w)
{
    MPI_Request request[2];
    MPI_Status status[2];
    long mine[2] = {7 + w->me, 1}, back[2] = {-1, -1};
    MPI_Win_lock_all(0, w->win);
    MPI_Rput(mine, 1, MPI_LONG, w->next, N + 3, 1, MPI_LONG, w->win, &request[0]);
    MPI_Raccumulate(mine + 1, 1, MPI_LONG, w->next, N + 4, 1, MPI_LONG, MPI_SUM, w->win,
                    &request[1]);
    MPI_Waitall(2, request, status);
    MPI_Win_flush(w->next, w->win);
    MPI_Rget(back, 1, MPI_LONG, w->next, N + 3, 1, MPI_LONG, w->win, &request[0]);
    MPI_Rget_accumulate(mine + 1, 1, MPI_LONG, back + 1, 1, MPI_LONG, w->next, N + 4, 1, MPI_LONG,
                        MPI_SUM, w->win, &request[1]);
    MPI_Waitall(2, request, status);
    CHECK(back[0] == 7 + w->me, "%ld", back[0]);
    CHECK(back[1] == 1, "%ld", back[1]);
    MPI_Win_unlock_all(w->win);
}

/* Open MPI 4.1 crashes in MPI_Compare_and_swap on windows of MPI_Win_allocate. */
static void all_of_it(MPI_Win win, long *memory, MPI_Comm comm, int swaps)
{
    struct window w = {.win = win, .memory = memory};
    MPI_Comm_rank(comm, &w.me);
    MPI_Comm_size(comm, &w.size);
    w.next = (w.me + 1) % w.size;
    w.previous = (w.me + w.size - 1) % w.size;
    memset(memory, 0, 2 * N * sizeof *memory);
    put_in_fences(&w);
    get_by_post_and_start(&w);
    MPI_Barrier(comm);
    add_under_locks(&w);
    if (swaps)
        swap(&w);
    by_requests(&w);
    MPI_Barrier(comm);
    const long expected[] = {2 * w.size,     w.size, w.size,
                             7 + w.previous, 2,      swaps ? 5 + w.previous : 0};
    MPI_Win_lock(MPI_LOCK_SHARED, w.me, 0, win);
    MPI_Win_sync(win);
    for (int i = 0; i < 6; i++)
        CHECK(memory[N + i] == expected[i], "%d: %ld, expected %ld", i, memory[N + i], expected[i]);
    MPI_Win_unlock(w.me, win);
}

static void on_windows_of(MPI_Comm comm)
{
    long *memory = window_memory(2 * N * sizeof *memory);
    MPI_Win win;
    MPI_Win_create(memory, 2 * N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &win);
    all_of_it(win, memory, comm, 1);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);

    MPI_Win_allocate(2 * N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
    all_of_it(win, memory, comm, 0);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    const char *which = argc > 1 ? argv[1] : "world";
    int color = !strcmp(which, "halves") ? test_rank / 2 : !strcmp(which, "alone") ? test_rank : 0;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, color, test_rank, &comm);
    /* Let one communicator follow the other: Open MPI 4.1 mixes up windows that two communicators
     * create at once. */
    for (int turn = 0; turn < test_size; turn++) {
        if (turn == color)
            on_windows_of(comm);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&comm);
    return test_end();
}
