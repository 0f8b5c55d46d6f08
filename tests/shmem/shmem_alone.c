/* A program that uses OpenSHMEM only: shmem_init initialises MPI and shmem_finalize finalises it.
 * With an argument, MPI is initialised before and still usable afterwards. The program declares the
 * functions itself, without the header. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

void shmem_init(void);
void shmem_finalize(void);
int shmem_my_pe(void);
int shmem_n_pes(void);
void *shmem_malloc(size_t size);
void shmem_free(void *block);
void shmem_barrier_all(void);
void shmem_int_p(int *to, int value, int pe);
double shmem_double_g(const double *from, int pe);
int shmem_int_atomic_fetch_add(int *to, int value, int pe);
void shmem_query_thread(int *provided);
extern long mpiaccel_malloc_error;

int main(int argc, char **argv)
{
    int begun = 0, ended = 0, bad = 0;
    void *early = shmem_malloc(100);
    bad += early || !mpiaccel_malloc_error; /* fails before shmem_init */
    bad += shmem_my_pe() != -1;
    if (argc > 1)
        MPI_Init(&argc, &argv);
    shmem_init();
    MPI_Initialized(&begun);
    bad += !begun;
    int me = shmem_my_pe(), pes = shmem_n_pes(), level = -1;
    shmem_query_thread(&level);
    bad += level < 0;
    int *word = shmem_malloc(2 * sizeof *word);
    double *real = shmem_malloc(sizeof *real);
    bad += !word || !real || mpiaccel_malloc_error;
    word[0] = word[1] = 0;
    *real = me + 0.5;
    shmem_barrier_all();
    shmem_int_p(word, me + 1, (me + 1) % pes);
    shmem_int_atomic_fetch_add(word + 1, me + 1, 0);
    shmem_barrier_all();
    bad += word[0] != (me + pes - 1) % pes + 1;
    bad += me == 0 && word[1] != pes * (pes + 1) / 2;
    bad += shmem_double_g(real, (me + 1) % pes) != (me + 1) % pes + 0.5;
    shmem_free(word);
    shmem_finalize();
    MPI_Finalized(&ended);
    if (argc > 1) {
        bad += ended;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    } else
        bad += !ended;
    if (bad)
        fprintf(stderr, "PE %d: %d things are wrong\n", me, bad);
    return bad != 0;
}
