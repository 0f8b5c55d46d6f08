/* Makes a call after MPI_Finalize, on an object that was accelerated before (H31: life cycle).
 * Arguments: the call, the rank that makes it or `all`, and anything if the window is to be freed
 * before. Prints the result of the call if it returns. */
#include "test.h"

#include <unistd.h>

static MPI_Comm comm;
static MPI_Win win;
static MPI_Datatype type;
static int *memory, *base;

static int call(const char *name)
{
    int value = test_rank, sum = 0;
    MPI_Request request;
    void *allocated;
    if (!strcmp(name, "Barrier"))
        return MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(name, "Allreduce"))
        return MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (!strcmp(name, "Bcast"))
        return MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
    if (!strcmp(name, "Comm_dup"))
        return MPI_Comm_dup(comm, &comm);
    if (!strcmp(name, "Win_fence"))
        return MPI_Win_fence(0, win);
    if (!strcmp(name, "Put"))
        return MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
    if (!strcmp(name, "Rget"))
        return MPI_Rget(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win, &request);
    if (!strcmp(name, "Win_lock"))
        return MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    if (!strcmp(name, "Bsend"))
        return MPI_Bsend(&value, 1, MPI_INT, test_next(), 0, MPI_COMM_WORLD);
    if (!strcmp(name, "Alloc_mem"))
        return MPI_Alloc_mem(100, MPI_INFO_NULL, &allocated);
    if (!strcmp(name, "Free_mem"))
        return MPI_Free_mem(memory);
    if (!strcmp(name, "Type_free"))
        return MPI_Type_free(&type);
    return MPI_ERR_OTHER;
}

static void use_objects(void)
{
    int value = 1, sum;
    for (int i = 0; i < 6; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, test_next(), 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Bcast(memory, 1, type, 0, comm);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    use_objects();
    if (argc > 3) /* the call does not use it */
        MPI_Win_free(&win);
    MPI_Finalize();
    if (argc > 2 && (!strcmp(argv[2], "all") || atoi(argv[2]) == test_rank)) {
        int result = call(argv[1]);
        printf("%s returns %d\n", argv[1], result);
    }
    return 0;
}
