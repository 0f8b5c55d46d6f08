/* The predefined attributes of a window: base, size, displacement unit, flavor and memory model
 * (MPI-4.0, 12.2.6). */
#include "test.h"

static void *attribute(MPI_Win win, int keyval)
{
    int flag = 0;
    void *value = NULL;
    MPI_Win_get_attr(win, keyval, &value, &flag);
    CHECK(flag, "keyval %d", keyval);
    return value;
}

static void check(MPI_Win win, void *base, MPI_Aint size, int unit, int flavor)
{
    CHECK(attribute(win, MPI_WIN_BASE) == base, "%p, expected %p", attribute(win, MPI_WIN_BASE),
          base);
    MPI_Aint *size_is = attribute(win, MPI_WIN_SIZE);
    CHECK(size_is && *size_is == size, "%ld, expected %ld", (long)*size_is, (long)size);
    int *unit_is = attribute(win, MPI_WIN_DISP_UNIT);
    CHECK(unit_is && *unit_is == unit, "%d, expected %d", *unit_is, unit);
    int *flavor_is = attribute(win, MPI_WIN_CREATE_FLAVOR);
    CHECK(flavor_is && *flavor_is == flavor, "%d, expected %d", *flavor_is, flavor);
    int *model = attribute(win, MPI_WIN_MODEL);
    CHECK(model && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE), "%d", *model);
}

static void check_on(MPI_Comm comm)
{
    MPI_Win created, allocated;
    char *memory = window_memory(1000), *given;
    MPI_Aint size = 100 * (test_rank + 1);
    int unit = test_rank + 3;
    MPI_Win_create(memory + 8, size, unit, MPI_INFO_NULL, comm, &created);
    MPI_Win_allocate(2 * size, 2 * unit, MPI_INFO_NULL, comm, &given, &allocated);
    check(created, memory + 8, size, unit, MPI_WIN_FLAVOR_CREATE);
    check(allocated, given, 2 * size, 2 * unit, MPI_WIN_FLAVOR_ALLOCATE);
    check(created, memory + 8, size, unit, MPI_WIN_FLAVOR_CREATE);
    MPI_Win_free(&created);
    MPI_Win_free(&allocated);
    MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    check_on(MPI_COMM_WORLD);
    if (argc > 1)
        check_on(MPI_COMM_SELF);
    return test_end();
}
