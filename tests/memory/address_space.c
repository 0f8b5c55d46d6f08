/* Under a limit on the address space or on private memory, the program still has most of the rest
 * after MPI_Init, as with the host alone.
 *
 *   address_space [data]   a limit on private memory: it counts if it may be written
 */
#include "test.h"

#include <sys/resource.h>
#include <unistd.h>

/* The address space, or the private memory that may be written. */
static size_t used(bool data)
{
    unsigned long all = 0, private = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%lu %*u %*u %*u %*u %lu", &all, &private) == 2);
    fclose(statm);
    return (data ? private : all) * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    bool data = argc > 1;
    const size_t mib = 1 << 20,
                 machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
                 left = data ? machine / 64 + 100 * mib : 4000 * mib, whole = used(data) + left;
    CHECK(!setrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &(struct rlimit){whole, whole}));
    test_begin(&argc, &argv);
    char *own = malloc(left * 3 / 4);
    CHECK(own, "no memory");
    if (own)
        own[left / 2] = 1;
    free(own);
    return test_end();
}
