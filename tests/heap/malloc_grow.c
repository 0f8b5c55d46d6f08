/* Long blocks that grow by realloc() keep their contents, and do not take more memory than glibc's,
 * which moves pages instead of copying them: neither for pages that the program has not touched,
 * nor for old and new block at the same time, nor beyond the end of the block. Blocks that become
 * short take little memory. */
#include "process_memory.h"
#include "where.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, LONG = 40 * MIB };

/* The bytes of a line of /proc/self/status. */
static long memory(const char *name)
{
    return status_kib(name) * 1024;
}

/* A block behind this one, so that it cannot become longer where it is. */
static void *grown(char *block, size_t from, size_t to)
{
    void *behind = malloc(from);
    char *now = realloc(block, to);
    free(behind);
    return now;
}

static void both_blocks(void)
{
    char *block = malloc(LONG);
    memset(block, 1, LONG);
    fill(block, LONG, 2);
    CHECK(forget_peak(), "the peak cannot be reset");
    long before = memory("VmRSS:");
    block = grown(block, LONG, LONG + MIB);
    CHECK(holds(block, LONG, 2));
    long more = memory("VmHWM:") - before;
    CHECK(more < LONG / 4, "old and new block take %ld bytes more", more);
    free(block);
}

static void untouched_pages(void)
{
    char *block = calloc(LONG, 1);
    fill(block, MIB, 1);
    long before = memory("VmRSS:");
    block = grown(block, LONG, LONG + MIB);
    CHECK(holds(block, MIB, 1));
    long more = memory("VmRSS:") - before;
    CHECK(more < 4 * MIB, "untouched pages take %ld bytes", more);
    bool zero = true;
    for (size_t i = MIB; i < LONG; i += 64)
        zero &= !block[i];
    CHECK(zero);
    free(block);
}

/* Several blocks grow in turn. */
static void many(void)
{
    enum { BLOCKS = 5, STEPS = 30 };
    char *block[BLOCKS] = {NULL};
    size_t size = 100000, sum = 0;
    long before = memory("VmRSS:");
    for (int step = 0; step < STEPS; step++) {
        size_t now = size + size / 5;
        for (int i = 0; i < BLOCKS; i++) {
            char *longer = realloc(block[i], now);
            CHECK(is_shared(longer) == has_heap());
            CHECK(!step || holds(longer, size, (unsigned)(step + i)));
            memset(longer, 1, now);
            fill(longer, now, (unsigned)(step + 1 + i));
            block[i] = longer;
        }
        size = now;
        sum = now * BLOCKS;
    }
    long more = memory("VmRSS:") - before;
    CHECK(more < (long)(sum + sum / 20) + 2 * MIB, "blocks of %zu bytes take %ld", sum, more);
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = realloc(block[i], size / 3);
        CHECK(holds(block[i], 256, (unsigned)(STEPS + i)));
        free(block[i]);
    }
}

/* Buffers that have become short. No freed pages are kept yet. */
static void short_rests(void)
{
    enum { BLOCKS = 4000, BUFFER = 65536, REST = 50 };
    static char *block[BLOCKS];
    long before = memory("VmRSS:");
    for (int i = 0; i < BLOCKS; i++) {
        memset(block[i] = malloc(BUFFER), 1, BUFFER);
        fill(block[i], REST, (unsigned)i);
        block[i] = realloc(block[i], REST);
    }
    long more = memory("VmRSS:") - before;
    CHECK(more < 4 * MIB, "%d blocks of %d bytes take %ld", BLOCKS, REST, more);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(holds(block[i], REST, (unsigned)i));
        free(block[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    short_rests();
    both_blocks();
    untouched_pages();
    many();
    return test_end();
}
