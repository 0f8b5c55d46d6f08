/* Symmetric-heap calls that cannot succeed: NULL and malloc_error on every PE, an unchanged heap,
 * and no hang. Arguments that differ between PEs are an error of the program, and are reported as
 * an error.
 */
#include "shmem_test.h"

enum { MIB = 1 << 20 };

static unsigned char *kept;

static void heap_is_intact(void)
{
    CHECK(holds(kept, 1000, (unsigned)test_rank));
    unsigned char *block = shmem_malloc(333);
    CHECK(block && malloc_error == 0 && same_offset(kept, block));
    CHECK(block + 333 <= kept || kept + 1000 <= block);
    shmem_free(block);
    CHECK(malloc_error == 0);
}

static void refused(void *block, long why)
{
    CHECK(!block, "%p", block);
    CHECK(malloc_error == why, "%ld instead of %ld", malloc_error, why);
    heap_is_intact();
}

static void bad_alignments(void)
{
    refused(shmem_align(3, 100), MPIACCEL_MALLOC_BAD_ALIGNMENT);
    refused(shmem_align(48, 100), MPIACCEL_MALLOC_BAD_ALIGNMENT);
    refused(shmem_align(0, 100), MPIACCEL_MALLOC_BAD_ALIGNMENT);
    refused(shmem_align(1, 100), MPIACCEL_MALLOC_BAD_ALIGNMENT);
}

static void bad_free(void *block)
{
    shmem_free(block);
    refused(NULL, MPIACCEL_MALLOC_BAD_BLOCK);
}

static void bad_blocks(void)
{
    int local;
    char *block = shmem_malloc(10000), *own = malloc(10);
    bad_free(block + 1);
    bad_free(block + 64);
    bad_free(block + 4096);
    bad_free(&local);
    bad_free(own);
    refused(shmem_realloc(block + 64, 100), MPIACCEL_MALLOC_BAD_BLOCK);
    refused(shmem_realloc(&local, 100), MPIACCEL_MALLOC_BAD_BLOCK);
    shmem_free(block);
    CHECK(malloc_error == 0);
    bad_free(block);
    refused(shmem_realloc(block, 100), MPIACCEL_MALLOC_BAD_BLOCK);
    refused(shmem_realloc(block, 0), MPIACCEL_MALLOC_BAD_BLOCK);
    free(own);
}

static void different(void)
{
    bool odd = test_rank == test_size - 1;
    char *a = shmem_malloc(100), *b = shmem_malloc(100);
    refused(shmem_malloc(odd ? 100 : 200), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_malloc(odd ? 0 : 200), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_malloc(odd ? 200 : 0), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_calloc(odd ? 3 : 4, 100), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_calloc(odd ? SIZE_MAX : 1, 100), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_align(odd ? 64 : 128, 100), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_realloc(odd ? a : b, 1000), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_realloc(odd ? a : NULL, 1000), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_realloc(a, odd ? 1000 : 2000), MPIACCEL_MALLOC_DIFFERENT);
    refused(shmem_realloc(a, odd ? 0 : 2000), MPIACCEL_MALLOC_DIFFERENT);
    shmem_free(odd ? a : b);
    refused(NULL, MPIACCEL_MALLOC_DIFFERENT);
    shmem_free(odd ? NULL : b);
    refused(NULL, MPIACCEL_MALLOC_DIFFERENT);
    /* not even the same call */
    void *got = NULL;
    if (odd)
        got = shmem_malloc(100);
    else
        shmem_free(a);
    refused(got, MPIACCEL_MALLOC_DIFFERENT);
    refused(odd ? shmem_malloc(100) : shmem_calloc(1, 100), MPIACCEL_MALLOC_DIFFERENT);
    refused(odd ? shmem_malloc(100) : shmem_realloc(NULL, 100), MPIACCEL_MALLOC_DIFFERENT);
    shmem_free(a);
    CHECK(malloc_error == 0);
    shmem_free(b);
    CHECK(malloc_error == 0);
}

static void too_much(void)
{
    refused(shmem_malloc(SIZE_MAX), MPIACCEL_MALLOC_NO_ROOM);
    refused(shmem_malloc((size_t)1 << 50), MPIACCEL_MALLOC_NO_ROOM);
    refused(shmem_malloc(9 * MIB), MPIACCEL_MALLOC_NO_ROOM);
    refused(shmem_calloc(SIZE_MAX / 2, 3), MPIACCEL_MALLOC_NO_ROOM);
    refused(shmem_align((size_t)1 << 40, 100), MPIACCEL_MALLOC_NO_ROOM);
    unsigned char *block = shmem_malloc(3 * MIB);
    fill(block, 3 * MIB, (unsigned)test_rank);
    refused(shmem_realloc(block, 20 * MIB), MPIACCEL_MALLOC_NO_ROOM);
    CHECK(holds(block, 3 * MIB, (unsigned)test_rank));
    shmem_free(block);
    CHECK(malloc_error == 0);
}

/* Allocate until the heap is full; all of it is available again afterwards. */
static void full(void)
{
    for (int round = 0; round < 3; round++) {
        enum { MOST = 1000 };
        void *block[MOST];
        int count = 0;
        while (count < MOST && (block[count] = shmem_malloc(100000)))
            count++;
        CHECK(malloc_error == MPIACCEL_MALLOC_NO_ROOM);
        CHECK(count >= 80 && count < MOST, "%d blocks of 8 MiB", count);
        CHECK(same_everywhere((uint64_t)count));
        for (int i = 0; i < count; i++)
            shmem_free(block[i]);
        void *all = shmem_malloc(8 * MIB);
        CHECK(all, "what was asked for can be had in one piece");
        shmem_free(all);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    kept = shmem_malloc(1000);
    fill(kept, 1000, (unsigned)test_rank);
    bad_alignments();
    bad_blocks();
    if (test_size > 1)
        different();
    too_much();
    full();
    heap_is_intact();
    shmem_free(kept);
    return test_end();
}
