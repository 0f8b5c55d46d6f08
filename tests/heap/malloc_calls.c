/* Each function of malloc's family, for short blocks, which the next allocator has, and for long
 * ones, which the shared heap has: alignment, usable size, zeroes, contents across realloc()
 * between both, sizes that are impossible, errno, where in a page blocks begin. Blocks from before
 * MPI_Init count. */
#include "where.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const size_t sizes[] = {0,           1,       100,     MINIMUM - 1, MINIMUM,
                               MINIMUM + 1, 1 << 17, 1 << 20, 5000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void check_block(void *block, size_t size, size_t align)
{
    CHECK(block, "%zu bytes", size);
    CHECK((uintptr_t)block % align == 0, "%p is not aligned to %zu", block, align);
    CHECK(malloc_usable_size(block) >= size);
    CHECK(is_shared(block) == (has_heap() && size >= MINIMUM), "%zu bytes at %p", size, block);
    fill(block, size, 5);
    errno = EDOM;
    CHECK(holds(block, size, 5));
    free(block);
    CHECK(errno == EDOM);
}

static void alignments(size_t size)
{
    for (size_t align = 8; align <= (size_t)4 << 20; align *= 8) {
        void *block = NULL;
        CHECK(!posix_memalign(&block, align, size));
        check_block(block, size, align);
        check_block(memalign(align, size), size, align);
        check_block(aligned_alloc(align, size), size, align);
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    check_block(valloc(size), size, page);
    if (size % page == 0) /* otherwise the block has the size of whole pages */
        check_block(pvalloc(size), size, page);
}

static void zeroes(size_t size)
{
    for (int round = 0; round < 3; round++) {
        unsigned char *block = calloc(size / 8 + 1, 8);
        bool zero = block;
        for (size_t i = 0; block && i < size; i++)
            zero &= !block[i];
        CHECK(zero, "%zu bytes", size);
        if (block)
            memset(block, 1, size);
        free(block);
    }
}

static void resizes(size_t from, size_t to)
{
    char *block = malloc(from), *behind = malloc(from);
    fill(block, from, 9);
    block = realloc(block, to);
    CHECK(to ? block != NULL : !block, "from %zu to %zu", from, to);
    if (block) {
        CHECK(malloc_usable_size(block) >= to);
        size_t kept = from < to ? from : to;
        for (size_t i = 0; i < kept && i < 256; i++)
            CHECK(block[i] == (char)(9 + i), "from %zu to %zu: byte %zu", from, to, i);
        memset(block, 3, to);
    }
    free(block);
    free(behind);
}

static void impossible_sizes(void)
{
    static volatile size_t most = SIZE_MAX / 2; /* volatile: the compiler warns of such sizes */
    void *block = malloc(MINIMUM), *none = &block;
    fill(block, MINIMUM, 1);
    errno = 0;
    CHECK(!malloc(most) && errno == ENOMEM);
    CHECK(!calloc(most, 4) && !calloc(most / MINIMUM * 2 + 8, MINIMUM)); /* 98304 modulo 2^64 */
    errno = 0;
    CHECK(!reallocarray(block, most, 4) && errno == ENOMEM);
    CHECK(!reallocarray(NULL, most, 4) && !realloc(block, most));
    CHECK(posix_memalign(&none, 24, MINIMUM) == EINVAL && posix_memalign(&none, 0, 1) == EINVAL);
    CHECK(none == &block && holds(block, MINIMUM, 1));
    free(block);
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0);
}

static void arrays(void)
{
    char *block = reallocarray(NULL, 1000, 8);
    fill(block, 8000, 2);
    block = reallocarray(block, 1000, 800);
    CHECK(is_shared(block) == has_heap() && block[7999] == (char)(2 + 7999));
    block = reallocarray(block, 1000, 8000);
    CHECK(block[7999] == (char)(2 + 7999));
    free(block);
}

/* More than is kept when it is freed. */
static void much(void)
{
    const size_t size = (size_t)80 << 20;
    check_block(malloc(size), size, 16);
    check_block(aligned_alloc((size_t)8 << 20, size), size, (size_t)8 << 20);
    zeroes(size);
    resizes(size / 2, size);
    resizes(size, 1000);
}

/* Memory that is allocated and freed again and again costs no page faults. */
static void reuses(size_t size)
{
    struct rusage before, after;
    for (int round = 0; round < 4; round++) {
        getrusage(RUSAGE_SELF, &before);
        char *block = malloc(size);
        for (size_t i = 0; i < size; i += 4096)
            block[i] = 1;
        free(block);
        getrusage(RUSAGE_SELF, &after);
    }
    CHECK(!has_heap() || after.ru_minflt - before.ru_minflt < 100, "%ld page faults for %zu bytes",
          after.ru_minflt - before.ru_minflt, size);
}

/* The rows of a matrix begin at different lines of the cache, so that columns are read fast. */
static void offsets(size_t size)
{
    enum { ROWS = 32, LINE_BYTES = 64, LINES = 4096 / LINE_BYTES };
    char *row[ROWS];
    bool has[LINES] = {false};
    int lines = 0;
    for (int i = 0; i < ROWS; i++) {
        row[i] = malloc(size);
        lines += !has[(uintptr_t)row[i] / LINE_BYTES % LINES];
        has[(uintptr_t)row[i] / LINE_BYTES % LINES] = true;
        CHECK(!has_heap() || (uintptr_t)row[i] % LINE_BYTES == 0, "%p", (void *)row[i]);
        fill(row[i], size, (unsigned)i);
    }
    for (int i = 0; i < ROWS; i++) {
        row[i] = realloc(row[i], size + 5000);
        CHECK(holds(row[i], size, (unsigned)i));
        free(row[i]);
    }
    CHECK(!has_heap() || lines >= 12, "%d rows of %zu bytes begin at %d lines", ROWS, size, lines);
}

/* The heap keeps much less than all that is freed. */
static void returns(void)
{
    enum { BLOCKS = 500, LENGTH = 1 << 20 };
    static char *block[BLOCKS];
    struct rusage before, after;
    for (int i = 0; i < BLOCKS; i++)
        memset(block[i] = malloc(LENGTH), 1, LENGTH);
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < BLOCKS; i++)
        memset(block[i] = malloc(LENGTH), 1, LENGTH);
    getrusage(RUSAGE_SELF, &after);
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    CHECK(!has_heap() || after.ru_minflt - before.ru_minflt > BLOCKS * (LENGTH / 65536) / 4,
          "%ld page faults", after.ru_minflt - before.ru_minflt);
}

int main(int argc, char **argv)
{
    void *early = malloc(MINIMUM);
    fill(early, MINIMUM, 7);
    CHECK(is_shared(early) == has_heap());
    test_begin(&argc, &argv);
    for (int i = 0; i < SIZES; i++) {
        check_block(malloc(sizes[i]), sizes[i], 16);
        check_block(calloc(sizes[i], 1), sizes[i], 16);
        check_block(realloc(NULL, sizes[i]), sizes[i], 16);
        alignments(sizes[i]);
        zeroes(sizes[i]);
        for (int j = 0; j < SIZES; j++)
            resizes(sizes[i], sizes[j]);
    }
    offsets(MINIMUM);
    offsets(MINIMUM + 4000);
    offsets(1 << 20);
    returns();
    much();
    reuses((size_t)64 << 20);
    reuses((size_t)160 << 20);
    impossible_sizes();
    arrays();
    CHECK(holds(early, MINIMUM, 7));
    int status = test_end();
    free(early); /* after the library has ended */
    return status || test_failures;
}
