/* A program that loads the library itself: with dlopen() of the file named as its argument, late
 * and with RTLD_LOCAL (H2: the host is loaded late, or locally), and calls MPI through it. */
#include "test.h"

#include <dlfcn.h>

/* Declares MPI_X and looks it up in the library. */
#define LATE(name) \
    __typeof__(&MPI_##name) late_##name = (__typeof__(&MPI_##name))dlsym(library, "MPI_" #name)

int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    LATE(Init);
    LATE(Alloc_mem);
    LATE(Win_create);
    LATE(Win_fence);
    LATE(Put);
    LATE(Win_free);
    LATE(Free_mem);
    LATE(Finalize);
    late_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);

    int *memory, mine = 10 + test_rank;
    MPI_Win win;
    late_Alloc_mem(sizeof *memory, MPI_INFO_NULL, &memory);
    *memory = 0;
    late_Win_create(memory, sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    late_Win_fence(0, win);
    late_Put(&mine, 1, MPI_INT, (test_rank + 1) % test_size, 0, 1, MPI_INT, win);
    late_Win_fence(0, win);
    CHECK(*memory == 10 + (test_rank + test_size - 1) % test_size, "%d", *memory);
    late_Win_free(&win);
    late_Free_mem(memory);
    late_Finalize();
    return test_failures ? 1 : 0;
}
