/* The symmetric heap under a limit on private memory (`ulimit -d`), which counts what may be
 * written: the size of the heap is that of the machine's memory, so a table for all of it would
 * be too large (H26: no room). */
#include "shmem_test.h"

#include <sys/resource.h>
#include <unistd.h>

static size_t private_memory(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%*u %*u %*u %*u %*u %lu", &pages) == 1);
    fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    enum { WORDS = 1 << 20 };
    test_begin(&argc, &argv);
    size_t most = private_memory() + ((size_t)32 << 20);
    CHECK(!setrlimit(RLIMIT_DATA, &(struct rlimit){most, most}));
    shmem_init();
    long *block = shmem_malloc(WORDS * sizeof *block);
    CHECK(block, "no memory");
    if (block) {
        shmem_long_p(&block[WORDS - 1], test_rank, test_next());
        shmem_barrier_all();
        CHECK(block[WORDS - 1] == test_previous(), "%ld", block[WORDS - 1]);
        shmem_free(block);
    }
    shmem_finalize();
    return test_end();
}
