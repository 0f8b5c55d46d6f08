/* The two tables of MPI functions, the rank, the clock. */
#include "bench.h"
#include <dlfcn.h>
#include <time.h>

struct api api[2];
int rank, size;

void find_apis(void *mpi)
{
#define X(name)                     \
    api[LIBRARY].name = MPI_##name; \
    api[HOST].name = (__typeof__(api[HOST].name))dlsym(mpi, "PMPI_" #name);
    FUNCTIONS(X)
#undef X
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
