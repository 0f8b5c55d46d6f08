/* A rank that writes beyond its allocations, before them, or into freed ones damages its own data
 * at most: the allocator keeps working on all ranks, and so do windows (H22: overruns). */
#include "test.h"

enum { PIECES = 200, PAST = 4096 };

static char *piece[PIECES];

static size_t size_of(int i)
{
    static const size_t sizes[] = {1, 64, 200, 4096, 5000, 100000};
    return sizes[i % 6];
}

static void take_all(void)
{
    for (int i = 0; i < PIECES; i++)
        MPI_Alloc_mem((MPI_Aint)size_of(i), MPI_INFO_NULL, &piece[i]);
}

static void free_all(void)
{
    for (int i = 0; i < PIECES; i++)
        CHECK_CLASS(MPI_Free_mem(piece[i]), MPI_SUCCESS);
}

/* The memory after, between and before the allocations: all of it belongs to this rank. */
static void scribble(void)
{
    enum { BEFORE = 4 << 20 };
    char *first = piece[0];
    for (int i = 0; i < PIECES; i++) {
        memset(piece[i], 0xff, size_of(i) + PAST);
        first = piece[i] < first ? piece[i] : first;
    }
    memset(first - BEFORE, 0xff, BEFORE);
}

static void works(void)
{
    take_all();
    for (int i = 0; i < PIECES; i++)
        memset(piece[i], i, size_of(i));
    for (int i = 0; i < PIECES; i++)
        for (size_t p = 0; p < size_of(i); p++)
            if (piece[i][p] != (char)i) {
                CHECK(false, "piece %d, byte %zu: %d", i, p, piece[i][p]);
                return;
            }
    free_all();
    long *memory = window_memory(64);
    MPI_Win win = window_over(memory, 64, 8);
    long value = 100 + test_rank;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == 100 + test_previous(), "%ld", *memory);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    works();
    take_all();
    if (test_rank == 0)
        scribble();
    free_all();
    if (test_rank == 0)
        scribble();
    MPI_Barrier(MPI_COMM_WORLD);
    works();
    works();
    return test_end();
}
