/* The memory management routines of OpenSHMEM 1.5, rule by rule. With an argument, some PEs have
 * mapped the addresses that the heap might use: then only offsets are equal, not addresses. */
#include "shmem_test.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static char *origin;

/* The block is usable on this PE and on the next, has the same offset everywhere, and is aligned.
 */
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
        /* Read the memory of the next PE: it must have been cleared before any PE returns. */
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
    /* NULL allocates; size 0 frees. */
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

/* No PE returns before all have called: one PE after the other is late, and the others read its
 * mark when they return. */
static void calls_end_in_a_barrier(void)
{
    long *calls = shmem_calloc((size_t)test_size, sizeof *calls), done = 0;
    void *block = NULL;
    for (int late = 0; late < test_size; late++)
        for (int call = 0; call < 7; call++) {
            if (late == test_rank)
                usleep(20000);
            done++;
            for (int pe = 0; pe < test_size; pe++)
                shmem_long_atomic_set(&calls[test_rank], done, pe);
            switch (call) {
            case 0:
                block = shmem_malloc(100);
                break;
            case 1: /* resized in place */
                CHECK(shmem_realloc(block, 101) == block);
                break;
            case 2: /* moved */
                block = shmem_realloc(block, 100000);
                break;
            case 3:
                shmem_free(block);
                break;
            case 4:
                block = shmem_align(4096, 100);
                break;
            case 5:
                CHECK(!shmem_realloc(block, 0));
                block = NULL;
                break;
            default:
                block = shmem_calloc(3, 100);
                break;
            }
            for (int pe = 0; pe < test_size; pe++)
                CHECK(calls[pe] >= done, "call %d: back before PE %d came", call, pe);
            shmem_barrier_all();
            if (call == 6)
                shmem_free(block);
        }
    shmem_free(calls);
}

/* A resize keeps the data that peers have put before it began. */
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

/* KiB of the shared pages that this process has touched. */
static long resident(void)
{
    char line[256];
    long shared = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        sscanf(line, "RssShmem: %ld", &shared);
    fclose(status);
    return shared;
}

/* Freed memory can be allocated again, any number of times, and large blocks are returned to the
 * operating system on all PEs. */
static void memory_comes_back(void)
{
    unsigned char *large = shmem_malloc(100 * MIB);
    memset(large, 1, 100 * MIB);
    long before = resident();
    shmem_free(large);
    shmem_barrier_all();
    CHECK(resident() < before - 90 * 1024, "%ld KiB of %ld", resident(), before);
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

/* Wherever the heap may lie, in steps of 2^36, up to the addresses where systems place programs. */
static void take_addresses(void)
{
    for (uint64_t at = UINT64_C(1) << 36; at < UINT64_C(5) << 44; at += UINT64_C(1) << 36)
        mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(int argc, char **argv)
{
    bool taken = argc > 1;
    test_begin(&argc, &argv);
    if (taken && test_rank % 2)
        take_addresses();
    origin = shmem_malloc(64);
    CHECK(origin);
    if (!taken)
        CHECK(same_everywhere((uint64_t)(uintptr_t)origin), "%p", (void *)origin);
    else if (test_size > 1)
        CHECK(!same_everywhere((uint64_t)(uintptr_t)origin), "the test has missed the address");
    sizes();
    blocks_do_not_overlap();
    nothing();
    alignments();
    zeroes();
    hints();
    resizes();
    calls_end_in_a_barrier();
    resize_waits_for_puts();
    old_names();
    memory_comes_back();
    questions();
    shmem_free(origin);
    return test_end();
}
