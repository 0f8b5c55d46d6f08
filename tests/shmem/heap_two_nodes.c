/* With ranks on several nodes (MPIACCEL_NODE_SIZE), with MPIACCEL=0, or a rank without the library,
 * there is no symmetric heap: NULL and malloc_error on all PEs, and MPI keeps working. */
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
    CHECK(shmem_my_pe() == test_rank && shmem_n_pes() == test_size);
    CHECK(!shmem_ptr(&argc, test_rank) && !shmem_addr_accessible(&argc, 0));
    return test_end();
}
