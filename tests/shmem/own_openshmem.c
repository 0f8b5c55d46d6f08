/* A program with another OpenSHMEM, that of Open MPI: the library must not interfere. It prints its
 * result before the end, because shmem_finalize of Open MPI 4.1.4 crashes. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes(), bad = 0;
    long *block = shmem_malloc(3 * sizeof *block);
    float *real = shmem_malloc(sizeof *real);
    long double *wide = shmem_malloc(sizeof *wide);
    block[0] = block[1] = 0;
    shmem_barrier_all();
    shmem_long_p(block, me + 1, (me + 1) % pes);
    shmem_float_p(real, (float)me + 0.5f, (me + 1) % pes);
    shmem_longdouble_p(wide, me + 0.25L, (me + 1) % pes);
    shmem_long_atomic_fetch_add(block + 1, me + 1, 0);
    shmem_barrier_all();
    int last = (me + pes - 1) % pes;
    bad += block[0] != last + 1 || shmem_long_g(block, me) != last + 1;
    bad += *real != (float)last + 0.5f || shmem_float_g(real, me) != *real;
    bad += *wide != last + 0.25L || shmem_longdouble_g(wide, me) != *wide;
    bad += me == 0 && block[1] != pes * (pes + 1) / 2;
    shmem_barrier_all();
    block = shmem_realloc(block, 100000);
    bad += !block || block[0] != last + 1;
    shmem_free(block);
    printf("PE %d of %d: %s\n", me, pes, bad ? "wrong" : "right");
    fflush(stdout);
    shmem_barrier_all();
    return 0;
}
