/* The program writes its buffers with non-temporal stores, which no fence of its own orders, right
 * before calls in which peers read or write them directly (H19: memory order). 1 KiB and a word:
 * the last cache line is written in part, and stays in its write-combining buffer longest. */
#include "coll.h"

#if defined(__x86_64__)
#include <emmintrin.h>
static void store(long *at, long value)
{
    _mm_stream_si64((long long *)at, value);
}
#else
static void store(long *at, long value)
{
    *(volatile long *)at = value;
}
#endif

enum { WORDS = 129, TIMES = 20000 };

static void fill(long *words, long value)
{
    for (int i = 0; i < WORDS; i++)
        store(&words[i], value);
}

static bool all_are(const long *words, long value)
{
    for (int i = 0; i < WORDS; i++)
        if (words[i] != value)
            return false;
    return true;
}

static long *allocate(int words)
{
    void *memory;
    MPI_Alloc_mem(words * (MPI_Aint)sizeof(long), MPI_INFO_NULL, &memory);
    return memory;
}

static void collectives(long *own, long *all)
{
    for (long t = 1; t < TIMES; t++) {
        int root = (int)(t % test_size);
        fill(own, t + test_rank);
        MPI_Bcast(own, WORDS, MPI_LONG, root, MPI_COMM_WORLD);
        CHECK(all_are(own, t + root), "MPI_Bcast %ld", t);
        fill(own, t + test_rank);
        MPI_Allreduce(own, all, WORDS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all_are(all, test_size * t + test_size * (test_size - 1) / 2), "MPI_Allreduce %ld",
              t);
        fill(own, t + test_rank);
        fill(all + test_rank * WORDS, -1);
        MPI_Allgather(own, WORDS, MPI_LONG, all, WORDS, MPI_LONG, MPI_COMM_WORLD);
        for (int r = 0; r < test_size; r++)
            CHECK(all_are(all + r * WORDS, t + r), "MPI_Allgather %ld, rank %d", t, r);
    }
}

static void windows(long *memory, long *read)
{
    MPI_Win win;
    MPI_Win_create(memory, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (long t = 1; t < TIMES; t++) {
        fill(memory, t + test_rank);
        MPI_Win_fence(0, win);
        MPI_Get(read, WORDS, MPI_LONG, test_next(), 0, WORDS, MPI_LONG, win);
        MPI_Win_fence(0, win);
        CHECK(all_are(read, t + test_next()), "MPI_Get %ld", t);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    long *own = allocate(WORDS), *all = allocate(WORDS * test_size);
    collectives(own, all);
    windows(own, all);
    MPI_Free_mem(own);
    MPI_Free_mem(all);
    return test_end();
}
