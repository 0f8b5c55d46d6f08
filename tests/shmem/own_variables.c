/* Two marked variables, with -DOTHER in the other order, so that two programs have them on the same
 * pages at different addresses. Argument: whether the next PE runs the same program. */
#include <mpi.h>
#include <mpiaccel/mpiaccel.h>
#include <mpiaccel/shmem.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OTHER
MPIACCEL_SHARED long second[500] = {2};
MPIACCEL_SHARED long first[500] = {1};
#else
MPIACCEL_SHARED long first[500] = {1};
MPIACCEL_SHARED long second[500] = {2};
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    shmem_init();
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes(), alike = atoi(argv[1]), bad = 0;
    long *block = shmem_malloc(sizeof *block);
    bad += !shmem_addr_accessible(first, me) || shmem_ptr(second, me) != second;
    bad += shmem_addr_accessible(first, next) != alike || !shmem_ptr(second, next) != !alike;
    bad += alike && shmem_long_g(second, next) != 2;
    bad += !shmem_addr_accessible(block, next);
    if (bad)
        fprintf(stderr, "PE %d: %d things are wrong\n", me, bad);
    MPI_Finalize();
    return bad != 0;
}
