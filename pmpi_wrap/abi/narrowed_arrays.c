/* Calls with arrays of large counts, or with results that are large, for a host that lacks them (see
 * pmpi_wrap/narrowed.h). */
#include "pmpi_wrap/abi/narrowed_arrays.h"

#include "pmpi_wrap/abi/host_api.h"

#include <stdlib.h>

#define AS_THE_PROGRAM(name) ((__typeof__(&PMPI_##name))exported_calls[CALL_##name])

/* The number of ranks with which each rank exchanges data. */
static int get_peers(MPI_Comm comm, int *n)
{
    int inter = 0;
    int result = host.Comm_test_inter(comm, &inter);
    if (result != MPI_SUCCESS)
        return result;
    return inter ? host.Comm_remote_size(comm, n) : host.Comm_size(comm, n);
}

/* Whether this rank is that with the data of all in MPI_Gatherv or MPI_Scatterv. */
static bool is_root(MPI_Comm comm, int root)
{
    int inter = 0, rank = -1;
    host.Comm_test_inter(comm, &inter);
    host.Comm_rank(comm, &rank);
    return inter ? root == MPI_ROOT : root == rank;
}

static int narrow(MPI_Count count)
{
    return count == (int)count ? (int)count : -1;
}

/* Counts of n ranks, and behind them their displacements, as ints. A pair of which one is too large
 * has the count -1, for which the host reports MPI_ERR_COUNT. `displacements` may be NULL. The
 * caller frees the result. NULL: no memory. */
static int *narrow_all(int n, const MPI_Count counts[], const MPI_Aint displacements[])
{
    int *narrowed = malloc(2 * sizeof *narrowed * (size_t)n);
    for (int i = 0; narrowed && i < n; i++) {
        MPI_Aint displacement = displacements ? displacements[i] : 0;
        narrowed[n + i] = (int)displacement;
        narrowed[i] = displacement == (int)displacement ? narrow(counts[i]) : -1;
    }
    return narrowed;
}

static const int *displacements_in(const int *narrowed, int n)
{
    return narrowed ? narrowed + n : NULL;
}

static int report_no_memory(MPI_Comm comm)
{
    host.Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

static int narrowed_Gatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type,
                              void *receive, const MPI_Count counts[],
                              const MPI_Aint displacements[], MPI_Datatype receive_type, int root,
                              MPI_Comm comm)
{
    int n, result = get_peers(comm, &n), *narrowed = NULL;
    if (result != MPI_SUCCESS)
        return result;
    if (is_root(comm, root) && !(narrowed = narrow_all(n, counts, displacements)))
        return report_no_memory(comm);
    result = AS_THE_PROGRAM(Gatherv)(send, narrow(send_count), send_type, receive, narrowed,
                                     displacements_in(narrowed, n), receive_type, root, comm);
    free(narrowed);
    return result;
}

static int narrowed_Scatterv_c(const void *send, const MPI_Count counts[],
                               const MPI_Aint displacements[], MPI_Datatype send_type,
                               void *receive, MPI_Count receive_count, MPI_Datatype receive_type,
                               int root, MPI_Comm comm)
{
    int n, result = get_peers(comm, &n), *narrowed = NULL;
    if (result != MPI_SUCCESS)
        return result;
    if (is_root(comm, root) && !(narrowed = narrow_all(n, counts, displacements)))
        return report_no_memory(comm);
    result = AS_THE_PROGRAM(Scatterv)(send, narrowed, displacements_in(narrowed, n), send_type,
                                      receive, narrow(receive_count), receive_type, root, comm);
    free(narrowed);
    return result;
}

static int narrowed_Allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type,
                                 void *receive, const MPI_Count counts[],
                                 const MPI_Aint displacements[], MPI_Datatype receive_type,
                                 MPI_Comm comm)
{
    int n, result = get_peers(comm, &n), *narrowed = NULL;
    if (result != MPI_SUCCESS)
        return result;
    if (!(narrowed = narrow_all(n, counts, displacements)))
        return report_no_memory(comm);
    result = AS_THE_PROGRAM(Allgatherv)(send, narrow(send_count), send_type, receive, narrowed,
                                        narrowed + n, receive_type, comm);
    free(narrowed);
    return result;
}

/* MPI_Alltoallv_c and MPI_Alltoallw_c. With MPI_IN_PLACE, what concerns the data to send is not
 * significant. */
struct alltoall {
    int n, *send, *receive;
};

static int open_alltoall(struct alltoall *a, MPI_Comm comm, const MPI_Count send_counts[],
                         const MPI_Aint send_displacements[], const MPI_Count receive_counts[],
                         const MPI_Aint receive_displacements[], bool in_place)
{
    int result = get_peers(comm, &a->n);
    if (result != MPI_SUCCESS)
        return result;
    if (!in_place)
        a->send = narrow_all(a->n, send_counts, send_displacements);
    a->receive = narrow_all(a->n, receive_counts, receive_displacements);
    return a->receive && (a->send || in_place) ? MPI_SUCCESS : report_no_memory(comm);
}

static void close_alltoall(struct alltoall *a)
{
    free(a->send);
    free(a->receive);
}

static int narrowed_Alltoallv_c(const void *send, const MPI_Count send_counts[],
                                const MPI_Aint send_displacements[], MPI_Datatype send_type,
                                void *receive, const MPI_Count receive_counts[],
                                const MPI_Aint receive_displacements[], MPI_Datatype receive_type,
                                MPI_Comm comm)
{
    struct alltoall a = {.send = NULL};
    int result = open_alltoall(&a, comm, send_counts, send_displacements, receive_counts,
                               receive_displacements, send == MPI_IN_PLACE);
    if (result == MPI_SUCCESS)
        result = AS_THE_PROGRAM(Alltoallv)(send, a.send, displacements_in(a.send, a.n), send_type,
                                           receive, a.receive, displacements_in(a.receive, a.n),
                                           receive_type, comm);
    close_alltoall(&a);
    return result;
}

static int narrowed_Alltoallw_c(const void *send, const MPI_Count send_counts[],
                                const MPI_Aint send_displacements[],
                                const MPI_Datatype send_types[], void *receive,
                                const MPI_Count receive_counts[],
                                const MPI_Aint receive_displacements[],
                                const MPI_Datatype receive_types[], MPI_Comm comm)
{
    struct alltoall a = {.send = NULL};
    int result = open_alltoall(&a, comm, send_counts, send_displacements, receive_counts,
                               receive_displacements, send == MPI_IN_PLACE);
    if (result == MPI_SUCCESS)
        result = AS_THE_PROGRAM(Alltoallw)(send, a.send, displacements_in(a.send, a.n), send_types,
                                           receive, a.receive, displacements_in(a.receive, a.n),
                                           receive_types, comm);
    close_alltoall(&a);
    return result;
}

/* Also on an intercommunicator, the counts are those of the ranks of the own group. */
static int narrowed_Reduce_scatter_c(const void *send, void *receive, const MPI_Count counts[],
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int n, result = host.Comm_size(comm, &n);
    if (result != MPI_SUCCESS)
        return result;
    int *narrowed = narrow_all(n, counts, NULL);
    if (!narrowed)
        return report_no_memory(comm);
    result = AS_THE_PROGRAM(Reduce_scatter)(send, receive, narrowed, type, op, comm);
    free(narrowed);
    return result;
}

static int narrowed_Buffer_detach_c(void *buffer, MPI_Count *size)
{
    int narrow_size = 0;
    int result = AS_THE_PROGRAM(Buffer_detach)(buffer, &narrow_size);
    if (result == MPI_SUCCESS)
        *size = narrow_size;
    return result;
}

static int narrowed_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                                       void *base)
{
    int narrow_unit = 0;
    int result = AS_THE_PROGRAM(Win_shared_query)(win, rank, size, &narrow_unit, base);
    if (result == MPI_SUCCESS)
        *disp_unit = narrow_unit;
    return result;
}

mpi_fn *narrowed_arrays_of(enum call call)
{
    switch (call) {
#define NARROWED(name)    \
    case CALL_##name##_c: \
        return (mpi_fn *)narrowed_##name##_c;
        NARROWED(Gatherv)
        NARROWED(Scatterv)
        NARROWED(Allgatherv)
        NARROWED(Alltoallv)
        NARROWED(Alltoallw)
        NARROWED(Reduce_scatter)
        NARROWED(Buffer_detach)
        NARROWED(Win_shared_query)
#undef NARROWED
    default:
        return NULL;
    }
}
