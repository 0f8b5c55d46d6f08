/* Whether Linux has been advised to use huge pages for memory of MPI_Alloc_mem: prints yes or no.
 * It runs in tests/memory/huge_pages. */
#include "test.h"

#include <stdint.h>

/* The flag `hg` of the mapping that contains the address. */
static bool is_advised(const void *at)
{
    char line[512];
    bool found = false, advised = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            found = (uintptr_t)at >= start && (uintptr_t)at < end;
        else if (found && !strncmp(line, "VmFlags:", 8))
            advised = strstr(line, " hg");
    }
    CHECK(maps && !fclose(maps), "no /proc/self/smaps");
    return advised;
}

int main(int argc, char **argv)
{
    char *memory;
    test_begin(&argc, &argv);
    MPI_Alloc_mem(8 << 20, MPI_INFO_NULL, &memory);
    memset(memory, 1, 8 << 20);
    if (test_rank == 0)
        puts(is_advised(memory + (4 << 20)) ? "yes" : "no");
    MPI_Free_mem(memory);
    return test_end();
}
