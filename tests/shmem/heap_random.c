/* Random calls, the same on all PEs: offsets stay equal on all PEs, blocks never overlap and keep
 * their contents. Argument: the number of rounds. */
#include "shmem_test.h"

enum { BLOCKS = 200 };

static struct {
    unsigned char *at;
    size_t size;
    unsigned seed;
} block[BLOCKS];

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Mostly small, some up to a mebibyte. */
static size_t draw_size(void)
{
    return 1 + draw((uint64_t)1 << (4 + draw(17)));
}

/* Only the ends: a block is checked when it changes. */
static void mark(int i, unsigned seed)
{
    size_t edge = block[i].size < 64 ? block[i].size : 64;
    block[i].seed = seed;
    fill(block[i].at, edge, seed + (unsigned)test_rank);
    fill(block[i].at + block[i].size - edge, edge, seed + (unsigned)test_rank);
}

static bool marked(int i, size_t size)
{
    size_t edge = block[i].size < 64 ? block[i].size : 64;
    /* In a short block the second mark overlaps the first. */
    if (block[i].size < 128)
        return size < block[i].size ||
               holds(block[i].at + block[i].size - edge, edge, block[i].seed + (unsigned)test_rank);
    return holds(block[i].at, size < edge ? size : edge, block[i].seed + (unsigned)test_rank) &&
           (size < block[i].size ||
            holds(block[i].at + block[i].size - edge, edge, block[i].seed + (unsigned)test_rank));
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 20000;
    test_begin(&argc, &argv);
    unsigned char *origin = shmem_malloc(64);
    CHECK(origin);
    uint64_t sum = 0;
    for (long round = 0; round < rounds && !test_failures; round++) {
        int i = (int)draw(BLOCKS);
        size_t size = draw_size();
        uint64_t what = draw(4);
        unsigned seed = (unsigned)round * 16;
        if (block[i].at)
            CHECK(marked(i, SIZE_MAX), "round %ld: block %d of %zu bytes was changed", round, i,
                  block[i].size);
        if (block[i].at && what < 2) {
            shmem_free(block[i].at);
            CHECK(malloc_error == 0);
            block[i].at = NULL;
            continue;
        }
        if (block[i].at) {
            unsigned char *at = shmem_realloc(block[i].at, size);
            CHECK(at, "round %ld: no %zu bytes", round, size);
            block[i].at = at;
            CHECK(size < block[i].size ? marked(i, size) : marked(i, SIZE_MAX), "round %ld", round);
        } else if (what == 3) {
            size_t align = (size_t)8 << draw(10);
            block[i].at = shmem_align(align, size);
            CHECK((uintptr_t)block[i].at % align == 0);
        } else {
            block[i].at = shmem_malloc(size);
        }
        CHECK(block[i].at, "round %ld: no %zu bytes", round, size);
        if (!block[i].at)
            break;
        block[i].size = size;
        mark(i, seed);
        sum = sum * 31 + (uint64_t)(block[i].at - origin);
        if (round % 64 == 0)
            CHECK(same_everywhere(sum), "round %ld: offsets are not equal", round);
    }
    CHECK(same_everywhere(sum), "offsets are not equal");
    for (int i = 0; i < BLOCKS; i++)
        shmem_free(block[i].at);
    return test_end();
}
