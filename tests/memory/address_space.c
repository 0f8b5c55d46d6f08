/* Under a limit on the address space, the program still has most of the remaining space after
 * MPI_Init, as with the host alone. */
#include "test.h"

#include <sys/resource.h>
#include <unistd.h>

static size_t used(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    const size_t mib = 1 << 20, left = 4000 * mib;
    struct rlimit limit = {used() + left, used() + left};
    CHECK(!setrlimit(RLIMIT_AS, &limit));
    test_begin(&argc, &argv);
    char *own = malloc(left * 3 / 4);
    CHECK(own, "no memory");
    if (own)
        own[left / 2] = 1;
    free(own);
    return test_end();
}
