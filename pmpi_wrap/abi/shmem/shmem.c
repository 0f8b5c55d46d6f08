#include "pmpi_wrap/abi/shmem/shmem.h"

#include "pmpi_wrap/abi/host_api.h"

static bool running(void)
{
    int begun = 0, ended = 0;
    host.Initialized(&begun);
    host.Finalized(&ended);
    return begun && !ended;
}

static const int levels[] = {
    [SHMEM_THREAD_SINGLE] = MPI_THREAD_SINGLE,
    [SHMEM_THREAD_FUNNELED] = MPI_THREAD_FUNNELED,
    [SHMEM_THREAD_SERIALIZED] = MPI_THREAD_SERIALIZED,
    [SHMEM_THREAD_MULTIPLE] = MPI_THREAD_MULTIPLE,
};

static int thread_level(void)
{
    int level, found = SHMEM_THREAD_SINGLE;
    host.Query_thread(&level);
    for (int i = 0; i <= SHMEM_THREAD_MULTIPLE; i++)
        if (levels[i] == level)
            found = i;
    return found;
}

/* Start and end MPI through the exported calls, so that tools see them. */
static bool start_mpi(int requested)
{
    typedef int init_fn(int *, char ***, int, int *);
    int provided, begun = 0;
    bool known = requested >= SHMEM_THREAD_SINGLE && requested <= SHMEM_THREAD_MULTIPLE;
    host.Initialized(&begun);
    return !begun &&
           ((init_fn *)exported_calls[CALL_Init_thread])(
               NULL, NULL, known ? levels[requested] : MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
}

static void end(void)
{
    typedef int finalize_fn(void);
    ((finalize_fn *)exported_calls[CALL_Finalize])();
}

static void stop_all(int status)
{
    host.Abort(MPI_COMM_WORLD, status);
}

static int rank(void)
{
    int value = -1;
    host.Comm_rank(MPI_COMM_WORLD, &value);
    return value;
}

static int size(void)
{
    int value = -1;
    host.Comm_size(MPI_COMM_WORLD, &value);
    return value;
}

const struct shmem_host shmem_mpi_calls = {
    .running = running,
    .start = start_mpi,
    .end = end,
    .stop_all = stop_all,
    .rank = rank,
    .size = size,
    .thread_level = thread_level,
};
