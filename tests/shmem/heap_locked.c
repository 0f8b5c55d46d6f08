/* A program that locks all its memory, now and in the future: the holes of the symmetric heap are
 * not filled (H26: no room). Run it with a small symmetric heap, so that a failure does not take
 * the memory of the machine. */
#include "process_memory.h"
#include "shmem_test.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    bool locked = !mlockall(MCL_CURRENT | MCL_FUTURE); /* false: RLIMIT_MEMLOCK is too low */
    test_begin(&argc, &argv);
    shmem_init();
    long *block = shmem_malloc(sizeof *block);
    CHECK(block, "no memory");
    if (block) {
        shmem_long_p(block, test_rank, test_next());
        shmem_barrier_all();
        CHECK(*block == test_previous(), "%ld", *block);
        shmem_free(block);
    }
    CHECK(!locked || status_kib("RssShmem:") < 500000, "%ld KiB", status_kib("RssShmem:"));
    shmem_finalize();
    return test_end();
}
