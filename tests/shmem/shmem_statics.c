/* Static variables in shared memory are symmetric; variables on the stack are not. */
#include "shmem_test.h"

#include <mpiaccel/mpiaccel.h>

MPIACCEL_SHARED static long counter = 5;
MPIACCEL_SHARED static double values[100];

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shmem_init();
    int next = test_next(), last = (test_rank + test_size - 1) % test_size;
    long local = 0;
    CHECK(counter == 5);
    shmem_barrier_all();
    for (int i = 0; i < 100; i++)
        shmem_long_atomic_inc(&counter, 0);
    shmem_double_p(&values[7], test_rank + 0.5, next);
    shmem_barrier_all();
    CHECK(values[7] == last + 0.5 && values[6] == 0);
    CHECK(shmem_long_g(&counter, 0) == 5 + 100 * test_size);
    CHECK(counter == (test_rank == 0 ? 5 + 100 * test_size : 5));
    CHECK(shmem_ptr(&counter, test_rank) == &counter);
    long *there = shmem_ptr(&counter, 0);
    CHECK(there && *there == 5 + 100 * test_size);
    CHECK(shmem_addr_accessible(values, next) && !shmem_addr_accessible(&local, next));
    shmem_finalize();
    return test_end();
}
