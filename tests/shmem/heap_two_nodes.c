/* Where the ranks are on several nodes, which the runner pretends, or one has no plugin, there is
 * no symmetric heap: NULL and malloc_error on all, and MPI works on. */
#include "shmem_test.h"

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        malloc_error = 0;
        CHECK(!shmem_malloc(100) && malloc_error == MPIACCEL_MALLOC_NOT_HERE);
        CHECK(!shmem_calloc(100, 1) && malloc_error == MPIACCEL_MALLOC_NOT_HERE);
        CHECK(!shmem_align(64, 1) && malloc_error == MPIACCEL_MALLOC_NOT_HERE);
        malloc_error = 0;
        CHECK(!shmem_realloc(NULL, 1) && malloc_error == MPIACCEL_MALLOC_NOT_HERE);
        malloc_error = 0;
        shmem_free(&i);
        CHECK(malloc_error == MPIACCEL_MALLOC_NOT_HERE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    bool off = argc > 1; /* then we do not even know the MPI */
    CHECK(off || (shmem_my_pe() == test_rank && shmem_n_pes() == test_size));
    CHECK(!shmem_ptr(&argc, test_rank) && !shmem_addr_accessible(&argc, 0));
    return test_end();
}
