/* A profiling tool as Darshan is one: it defines both MPI_X and PMPI_X, because a language binding
 * may call either, and continues with the next PMPI_X. Rank 0 prints its counts in MPI_Finalize. A
 * tool below the library does not see accelerated calls, so this one counts another call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#define OBSERVE(name, types, ...)                                             \
    static int count_##name;                                                  \
    int MPI_##name types                                                      \
    {                                                                         \
        static __typeof__(&PMPI_##name) next;                                 \
        if (!next)                                                            \
            next = (__typeof__(&PMPI_##name))dlsym(RTLD_NEXT, "PMPI_" #name); \
        count_##name++;                                                       \
        return next(__VA_ARGS__);                                             \
    }                                                                         \
    int PMPI_##name types __attribute__((alias("MPI_" #name)));

OBSERVE(Init, (int *argc, char ***argv), argc, argv)
OBSERVE(Comm_rank, (MPI_Comm comm, int *rank), comm, rank)

int MPI_Finalize(void)
{
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("MPI_Init %d\nMPI_Comm_rank %d\n", count_Init, count_Comm_rank);
    fflush(stdout);
    return next();
}
int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));
