/* A program that locks all its memory, now and in the future, before MPI_Init takes about as much
 * memory as without the library: the holes of the shared file are not filled (H26: no room). Run it
 * with a short shared heap, so that a failure does not take the memory of the machine. */
#include "test.h"

#include <sys/mman.h>

/* In MiB. */
static long shared_memory(void)
{
    char line[128];
    long size = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "RssShmem: %ld", &size);
    if (status)
        fclose(status);
    return size / 1024;
}

int main(int argc, char **argv)
{
    bool locked = !mlockall(MCL_CURRENT | MCL_FUTURE); /* a limit may prevent it */
    test_begin(&argc, &argv);
    char *memory = window_memory(1 << 20);
    for (int i = 0; i < 10; i++)
        MPI_Bcast(memory, 1 << 20, MPI_CHAR, i % test_size, MPI_COMM_WORLD);
    CHECK(!locked || shared_memory() < 500, "%ld MiB", shared_memory());
    MPI_Free_mem(memory);
    return test_end();
}
