/* Freed memory is returned to the operating system: half a gibibyte in one block, and many smaller
 * blocks freed in any order, by the allocating thread and by another (H28: returning memory).
 * Measured as resident memory of this process. */
#include "process_memory.h"
#include "test.h"

#include <pthread.h>

enum { MIB = 1 << 20 };

/* KiB of shared memory that are resident in this process; pages touched only by others do not
 * count. */
static long present_kib(void)
{
    return status_kib("RssShmem:") + status_kib("RssAnon:");
}

static size_t piece_size, pieces;
static char **piece;

static void *allocate(void *unused)
{
    for (size_t i = 0; i < pieces; i++) {
        MPI_Alloc_mem((MPI_Aint)piece_size, MPI_INFO_NULL, &piece[i]);
        memset(piece[i], 1, piece_size);
    }
    return unused;
}

static void *release(void *unused)
{
    /* A stride that visits all: the numbers of blocks are powers of two. */
    for (size_t i = 0; i < pieces; i++)
        MPI_Free_mem(piece[i * 7 % pieces]);
    return unused;
}

static void in_thread(void *work(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

static void goes_back(size_t size, size_t total, bool threads)
{
    piece_size = size;
    pieces = total / size;
    piece = malloc(pieces * sizeof *piece);
    memset(piece, 0, pieces * sizeof *piece);
    long before = present_kib();
    if (threads)
        in_thread(allocate);
    else
        allocate(NULL);
    long touched = present_kib() - before, all = (long)(total >> 10);
    CHECK(touched > all - 40 * 1024, "pieces of %zu: %ld KiB touched", size, touched);
    if (threads)
        in_thread(release);
    else
        release(NULL);
    long kept = present_kib() - before;
    /* What the library may cache, plus jemalloc's own memory. */
    CHECK(kept < 40 * 1024, "pieces of %zu: %ld of %ld KiB still there", size, kept, all);
    free(piece);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    if (test_rank == 0) {
        goes_back((size_t)512 * MIB, (size_t)512 * MIB, false);
        goes_back(8 * MIB, (size_t)128 * MIB, false);
        goes_back(64 << 10, (size_t)128 * MIB, false);
        goes_back(1 << 10, (size_t)128 * MIB, false);
        goes_back(2 * MIB, (size_t)128 * MIB, true);
        goes_back(16 << 10, (size_t)128 * MIB, true);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return test_end();
}
