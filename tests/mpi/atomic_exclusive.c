/* Ranks alternate between exclusive locks, shared locks and lock_all, and accumulate many types and
 * lengths into the same memory. The library skips atomic instructions for a rank that holds an
 * exclusive lock; an update is lost if another rank is in the window at that time (H18: atomicity
 * of accumulates). Bytes are combined with MPI_BXOR because Open MPI's sums of bytes saturate. */
#include "test.h"

enum { ROOM = 4096, ROUNDS = 1000 };

static unsigned char values[ROOM], back[ROOM], expected[2][ROOM];
static long ones[ROOM / 8];
static MPI_Win win;

/* The operation of rank `by` in round `i`. If `performs` is false, only computes the expected
 * result. */
static void combine(int i, int by, bool performs)
{
    unsigned chance = (unsigned)(i * 2654435761u) ^ (unsigned)by * 40503u;
    int target = i % 2, count = 1 + (int)(chance >> 8) % (i % 10 ? 6 : 700);
    int at = (int)(chance >> 4) % (count > 6 ? 200 : 20), longs = 1 + count % 9;
    unsigned char value = (unsigned char)(chance >> 16);
    if (!performs) {
        for (int e = at; e < at + count; e++)
            expected[target][e] ^= value;
        return;
    }
    memset(values, value, (size_t)count);
    if (i % 3)
        MPI_Accumulate(values, count, MPI_CHAR, target, at, count, MPI_CHAR, MPI_BXOR, win);
    else
        MPI_Get_accumulate(values, count, MPI_CHAR, back, count, MPI_CHAR, target, at, count,
                           MPI_CHAR, MPI_BXOR, win);
    MPI_Accumulate(ones, longs, MPI_LONG, target, ROOM, longs, MPI_LONG, MPI_SUM, win);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    unsigned char *memory = window_memory(2 * ROOM);
    win = window_over(memory, 2 * ROOM, 1);
    for (int i = 0; i < ROOM / 8; i++)
        ones[i] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        int target = i % 2, kind = (i / 2 + test_rank) % 3;
        if (kind == 2)
            MPI_Win_lock_all(0, win);
        else
            MPI_Win_lock(kind ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
        combine(i, test_rank, true);
        if (kind == 2)
            MPI_Win_unlock_all(win);
        else
            MPI_Win_unlock(target, win);
        for (int rank = 0; rank < test_size; rank++)
            combine(i, rank, false);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long first = ((long *)(memory + ROOM))[0];
    for (int e = 0; e < ROOM && test_rank < 2; e++)
        CHECK(memory[e] == expected[test_rank][e], "byte %d: %d, expected %d", e, memory[e],
              expected[test_rank][e]);
    CHECK(test_rank >= 2 || first == ROUNDS / 2 * test_size, "%ld longs", first);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
