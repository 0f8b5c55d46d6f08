/* A tool of the other kind (Darshan is one): it defines MPI_X and PMPI_X, as it cannot know which
 * of them a language's binding calls, and goes on to whatever PMPI_X comes next. Rank 0 prints its
 * counts when it finalises. Of calls that the plugin does itself one that stands behind the plugin
 * sees nothing, so it counts another. */
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
