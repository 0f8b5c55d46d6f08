/* A profiling tool as most are: it defines MPI_X, counts each call, and continues with PMPI_X.
 * Built as a library to preload, and linked into programs. Rank 0 prints its counts in
 * MPI_Finalize, one line each. */
#include <mpi.h>
#include <stdio.h>

#define TOOL(name, types, ...)           \
    static int count_##name;             \
    int MPI_##name types                 \
    {                                    \
        count_##name++;                  \
        return PMPI_##name(__VA_ARGS__); \
    }

TOOL(Init, (int *argc, char ***argv), argc, argv)
TOOL(Barrier, (MPI_Comm comm), comm)
TOOL(Alloc_mem, (MPI_Aint size, MPI_Info info, void *base), size, info, base)
TOOL(Free_mem, (void *base), base)
TOOL(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
     base, size, unit, info, comm, win)
TOOL(Win_allocate,
     (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win), size, unit,
     info, comm, base, win)
TOOL(Win_free, (MPI_Win * win), win)
TOOL(Win_fence, (int assertion, MPI_Win win), assertion, win)
TOOL(Win_lock, (int type, int rank, int assertion, MPI_Win win), type, rank, assertion, win)
TOOL(Win_flush, (int rank, MPI_Win win), rank, win)
TOOL(Put,
     (const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint disp, int target_count,
      MPI_Datatype target_type, MPI_Win win),
     origin, count, type, rank, disp, target_count, target_type, win)
TOOL(Fetch_and_op,
     (const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Op op,
      MPI_Win win),
     origin, result, type, rank, disp, op, win)
TOOL(Rput,
     (const void *origin, int count, MPI_Datatype type, int rank, MPI_Aint disp, int target_count,
      MPI_Datatype target_type, MPI_Win win, MPI_Request *request),
     origin, count, type, rank, disp, target_count, target_type, win, request)

#define PRINT(name) printf("MPI_" #name " %d\n", count_##name)

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        PRINT(Init);
        PRINT(Barrier);
        PRINT(Alloc_mem);
        PRINT(Free_mem);
        PRINT(Win_create);
        PRINT(Win_allocate);
        PRINT(Win_free);
        PRINT(Win_fence);
        PRINT(Win_lock);
        PRINT(Win_flush);
        PRINT(Put);
        PRINT(Fetch_and_op);
        PRINT(Rput);
        printf("MPI_Finalize 1\n");
        fflush(stdout);
    }
    return PMPI_Finalize();
}
