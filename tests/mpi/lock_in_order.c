/* A program that takes several exclusive locks in rank order completes, even if other ranks call
 * lock_all meanwhile. Rank 0 locks a target; other ranks call lock_all and access targets; then
 * rank 0 locks a second target. The program hangs if an operation in lock_all waits for the first
 * lock while the second lock waits for lock_all. While a target is locked exclusively, its two
 * words differ, which ranks in lock_all must not observe. */
#include "test.h"

enum { GRACE_MS = 50, WORDS = 2 };
enum message { GO, INSIDE, HELD };

static MPI_Win win;
static int *memory;

/* Rank 0 locks the targets `locked`; the ranks `readers` access the targets `accessed` in lock_all.
 * Lists of ranks, which end with NONE or with the array. */
struct scene {
    const char *name;
    int locked[3], readers[2], accessed[4];
};
#define NONE -1
static const struct scene scenes[] = {
    {"one reader", {1, 2, NONE}, {3, NONE}, {1, NONE}},
    {"another target before", {1, 2, NONE}, {3, NONE}, {0, 1, 2, NONE}},
    {"the second target before", {1, 2, NONE}, {3, NONE}, {2, 1, NONE}},
    {"memory of the reader", {1, 3, NONE}, {3, NONE}, {3, 1, NONE}},
    {"memory of the reader first", {2, 3, NONE}, {2, NONE}, {3, 2, NONE}},
    {"memory of rank 0", {0, 1, NONE}, {3, NONE}, {2, 0, NONE}},
    {"two readers", {1, 2, NONE}, {3, 2}, {0, 1, NONE}},
};

static void set(int target, int word, int value)
{
    MPI_Put(&value, 1, MPI_INT, target, word, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
}

static int number(int target, int word)
{
    int value;
    MPI_Get(&value, 1, MPI_INT, target, word, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    return value;
}

static void notify(enum message what, int rank)
{
    MPI_Send(NULL, 0, MPI_INT, rank, what, MPI_COMM_WORLD);
}

static void await_message(enum message what, int rank)
{
    MPI_Recv(NULL, 0, MPI_INT, rank, what, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Start a reader, and wait until its lock_all has returned. With most MPIs it does not return
 * while another rank holds an exclusive lock, so wait for a limited time. */
static void start_reader(int reader, MPI_Request *inside)
{
    MPI_Irecv(NULL, 0, MPI_INT, reader, INSIDE, MPI_COMM_WORLD, inside);
    notify(GO, reader);
    int done = 0;
    for (double start = MPI_Wtime(); !done && MPI_Wtime() - start < GRACE_MS / 1e3;)
        MPI_Test(inside, &done, MPI_STATUS_IGNORE);
}

static void lock_in_order(const struct scene *s, int round)
{
    MPI_Request inside[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; s->locked[i] != NONE; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, s->locked[i], 0, win);
        set(s->locked[i], 0, round);
        for (int r = 0; i == 0 && r < 2 && s->readers[r] != NONE; r++)
            start_reader(s->readers[r], &inside[r]);
    }
    for (int i = 0; s->locked[i] != NONE; i++)
        set(s->locked[i], 1, round);
    for (int i = 0; s->locked[i] != NONE; i++)
        MPI_Win_unlock(s->locked[i], win);
    MPI_Waitall(2, inside, MPI_STATUSES_IGNORE);
}

static void read_all(const struct scene *s)
{
    await_message(GO, 0);
    MPI_Win_lock_all(0, win);
    volatile int *own = memory;
    int before = own[0];
    notify(INSIDE, 0);
    for (int i = 0; s->accessed[i] != NONE; i++) {
        int first = number(s->accessed[i], 0), second = number(s->accessed[i], 1);
        CHECK(first == second, "%s: target %d: %d, %d", s->name, s->accessed[i], first, second);
    }
    CHECK(own[0] == before && own[1] == before, "%s: own memory: %d, then %d, %d", s->name, before,
          own[0], own[1]);
    MPI_Win_unlock_all(win);
}

/* Rank 0 holds target 1 and requests target 2, for which rank 1 has a shared lock. Rank 1 requests
 * target 3. Rank 3 waits for target 1 in lock_all, and must not block rank 1. */
static void beside_a_shared_lock(void)
{
    MPI_Request inside;
    switch (test_rank) {
    case 0:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        await_message(HELD, 1);
        start_reader(3, &inside);
        notify(GO, 1);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        MPI_Win_unlock(1, win);
        MPI_Win_unlock(2, win);
        MPI_Wait(&inside, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
        number(2, 0);
        notify(HELD, 0);
        await_message(GO, 0);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
        MPI_Win_unlock(3, win);
        MPI_Win_unlock(2, win);
        break;
    case 3:
        read_all(&scenes[0]);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    memory = window_memory(WORDS * sizeof *memory);
    win = window_over(memory, WORDS * sizeof *memory, sizeof *memory);
    int only = argc > 1 ? atoi(argv[1]) : 0; /* one scene, to debug it */
    for (int i = 0; i < (int)(sizeof scenes / sizeof *scenes); i++) {
        const struct scene *s = &scenes[i];
        MPI_Barrier(MPI_COMM_WORLD);
        if (only && only != i + 1)
            continue;
        if (test_rank == 0)
            lock_in_order(s, i + 1);
        for (int r = 0; r < 2 && s->readers[r] != NONE; r++)
            if (test_rank == s->readers[r])
                read_all(s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!only || only == 8) /* the last scene */
        beside_a_shared_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
