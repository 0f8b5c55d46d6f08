/* MPI_Free_mem of a large block raises malloc()'s mmap threshold, as free() does under the hosts:
 * from then on temporary buffers of that size keep their pages between two calls. Fails if each use
 * of such a buffer causes page faults. */
#include "test.h"

#include <sys/resource.h>

enum { FREED = 28 << 20, TEMPORARY = 4 << 20, TEMPORARIES = 4 };

/* Returns the page faults of one use. */
static long use_temporaries(void)
{
    struct rusage before, after;
    char *volatile block[TEMPORARIES];
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < TEMPORARIES; i++) {
        block[i] = malloc(TEMPORARY);
        memset(block[i], 1, TEMPORARY);
    }
    for (int i = 0; i < TEMPORARIES; i++)
        free(block[i]);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

int main(int argc, char **argv)
{
    void *memory;
    test_begin(&argc, &argv);
    MPI_Alloc_mem(FREED, MPI_INFO_NULL, &memory);
    MPI_Free_mem(memory);
    for (int i = 0; i < 3; i++)
        use_temporaries();
    long faults = use_temporaries();
    CHECK(faults < TEMPORARY / 4096 / 4, "%ld page faults", faults);
    return test_end();
}
