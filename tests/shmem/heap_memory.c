/* The memory management page of OpenSHMEM 1.5, point by point. */
#include "shmem_test.h"

enum { MIB = 1 << 20 };

static char *origin;

/* The block is usable here and at the next PE, has the same offset everywhere, and is aligned. */
static void check_block(void *block, size_t bytes, size_t align)
{
    int next = (test_rank + 1) % test_size, last = (test_rank + test_size - 1) % test_size;
    CHECK(block && malloc_error == 0, "%zu bytes, malloc_error %ld", bytes, malloc_error);
    if (!block)
        return;
    CHECK((uintptr_t)block % align == 0, "%p is not a multiple of %zu", block, align);
    CHECK(same_offset(origin, block), "%p", block);
    unsigned char *there = shmem_ptr(block, next);
    CHECK(there);
    fill(there, bytes, (unsigned)test_rank);
    shmem_barrier_all();
    CHECK(holds(block, bytes, (unsigned)last), "what PE %d stored is not here", last);
    shmem_barrier_all();
}

static void sizes(void)
{
    for (size_t bytes = 1; bytes <= 4 * MIB; bytes = bytes * 3 + 1) {
        void *block = shmem_malloc(bytes);
        check_block(block, bytes, 16);
        shmem_free(block);
        CHECK(malloc_error == 0);
    }
}

static void blocks_do_not_overlap(void)
{
    enum { COUNT = 40 };
    unsigned char *block[COUNT];
    for (int i = 0; i < COUNT; i++) {
        block[i] = shmem_malloc((size_t)(i * i * 10 + 1));
        fill(block[i], (size_t)(i * i * 10 + 1), (unsigned)(i + test_rank));
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(holds(block[i], (size_t)(i * i * 10 + 1), (unsigned)(i + test_rank)), "block %d", i);
    for (int i = 0; i < COUNT; i++)
        shmem_free(block[i * 7 % COUNT]);
}

static void nothing(void)
{
    CHECK(!shmem_malloc(0) && malloc_error == 0);
    CHECK(!shmem_calloc(0, 8) && malloc_error == 0);
    CHECK(!shmem_calloc(8, 0) && malloc_error == 0);
    CHECK(!shmem_align(64, 0) && malloc_error == 0);
    CHECK(!shmem_malloc_with_hints(0, 0) && malloc_error == 0);
    CHECK(!shmem_realloc(NULL, 0) && malloc_error == 0);
    shmem_free(NULL);
    CHECK(malloc_error == 0);
}

static void alignments(void)
{
    for (size_t align = sizeof(void *); align <= 2 * MIB; align *= 2) {
        void *block = shmem_align(align, 100);
        check_block(block, 100, align);
        shmem_free(block);
    }
}

static void zeroes(void)
{
    for (size_t bytes = 8; bytes <= MIB; bytes *= 8) {
        unsigned char *dirty = shmem_malloc(bytes);
        memset(dirty, 0xff, bytes);
        shmem_free(dirty);
        unsigned char *clean = shmem_calloc(bytes / 8, 8);
        size_t i = 0;
        /* Of the neighbour: it must have been cleared before anybody returns. */
        unsigned char *there = shmem_ptr(clean, (test_rank + 1) % test_size);
        while (i < bytes && !there[i])
            i++;
        CHECK(i == bytes, "byte %zu of %zu is %d", i, bytes, there[i]);
        shmem_free(clean);
    }
}

static void hints(void)
{
    long hint[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                   SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE};
    for (int i = 0; i < 4; i++) {
        void *block = shmem_malloc_with_hints(1000, hint[i]);
        check_block(block, 1000, 16);
        shmem_free(block);
    }
}

static void resizes(void)
{
    /* Of nothing it allocates; to nothing it frees. */
    unsigned char *block = shmem_realloc(NULL, 1000);
    check_block(block, 1000, 16);
    fill(block, 1000, (unsigned)test_rank + 50);
    size_t had = 1000;
    static const size_t size[] = {1001, 5000, 100, 100000, 3 * MIB, 2 * MIB, 64, 70000, 1};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        block = shmem_realloc(block, size[i]);
        CHECK(block && malloc_error == 0);
        CHECK(same_offset(origin, block));
        size_t kept = had < size[i] ? had : size[i];
        CHECK(holds(block, kept, (unsigned)test_rank + 50), "%zu to %zu bytes", had, size[i]);
        fill(block, size[i], (unsigned)test_rank + 50);
        had = size[i];
    }
    CHECK(!shmem_realloc(block, 0) && malloc_error == 0);
    shmem_free(block);
    CHECK(malloc_error != 0, "realloc to 0 has freed it");
}

/* A resize moves what peers have put before it began. */
static void resize_waits_for_puts(void)
{
    for (int round = 0; round < 20; round++) {
        size_t bytes = (size_t)1000 << (round % 8);
        unsigned char *block = shmem_malloc(bytes), *wall = shmem_malloc(64);
        int next = (test_rank + 1) % test_size, last = (test_rank + test_size - 1) % test_size;
        unsigned char *mine = malloc(bytes);
        fill(mine, bytes, (unsigned)(test_rank + round));
        shmem_putmem(block, mine, bytes, next);
        block = shmem_realloc(block, bytes * 4);
        CHECK(holds(block, bytes, (unsigned)(last + round)), "round %d", round);
        shmem_free(block);
        shmem_free(wall);
        free(mine);
    }
}

static void old_names(void)
{
    void *block = shmalloc(500);
    check_block(block, 500, 16);
    block = shrealloc(block, 5000);
    check_block(block, 5000, 16);
    shfree(block);
    CHECK(malloc_error == 0);
    block = shmemalign(4096, 100);
    check_block(block, 100, 4096);
    shfree(block);
}

/* What is freed can be had again, however often. */
static void memory_comes_back(void)
{
    for (int round = 0; round < 50; round++) {
        unsigned char *block = shmem_malloc(20 * MIB);
        CHECK(block, "round %d", round);
        if (block)
            block[round * 4096] = 1;
        shmem_free(block);
    }
}

static void questions(void)
{
    static int here;
    int *block = shmem_malloc(sizeof *block);
    CHECK(shmem_my_pe() == test_rank && shmem_n_pes() == test_size);
    for (int pe = 0; pe < test_size; pe++) {
        CHECK(shmem_pe_accessible(pe) && shmem_addr_accessible(block, pe));
        CHECK(!shmem_addr_accessible(&here, pe) && !shmem_ptr(&here, pe));
        *block = test_rank * 10;
        shmem_barrier_all();
        int *there = shmem_ptr(block, pe);
        CHECK(there && *there == pe * 10);
        shmem_barrier_all();
    }
    CHECK(shmem_ptr(block, test_rank) == block);
    CHECK(!shmem_pe_accessible(-1) && !shmem_pe_accessible(test_size));
    CHECK(!shmem_ptr(block, -1) && !shmem_ptr(block, test_size));
    shmem_free(block);
}

int main(int argc, char **argv)
{
    bool same_address = argc < 2;
    test_begin(&argc, &argv);
    origin = shmem_malloc(64);
    CHECK(origin);
    if (same_address)
        CHECK(same_everywhere((uint64_t)(uintptr_t)origin), "%p", (void *)origin);
    sizes();
    blocks_do_not_overlap();
    nothing();
    alignments();
    zeroes();
    hints();
    resizes();
    resize_waits_for_puts();
    old_names();
    memory_comes_back();
    questions();
    shmem_free(origin);
    return test_end();
}
