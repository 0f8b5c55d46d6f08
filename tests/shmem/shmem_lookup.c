/* The first call of a name looks for another definition in the process. It opens no objects that
 * lack the name: UCX intercepts dlopen() and then searches all objects, and with Open MPI 6 the
 * first calls of all names took half a minute. */
#include "shmem_test.h"

#include <dlfcn.h>

static int opened;

void *dlopen(const char *file, int mode)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    opened++;
    return next(file, mode);
}

int main(void)
{
    shmem_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    long *word = shmem_calloc(1, sizeof *word);
    opened = 0;
    shmem_long_atomic_set(word, 1, 0);
    shmem_long_atomic_add(word, 2, 0);
    shmem_long_atomic_inc(word, 0);
    long sum = shmem_long_atomic_fetch(word, 0);
    shmem_long_p(word, 5, 0);
    CHECK(shmem_long_g(word, 0) == 5 && sum == 4);
    CHECK(opened < 6, "%d objects were opened in 6 calls", opened);
    shmem_free(word);
    shmem_finalize();
    return test_failures ? 1 : 0;
}
