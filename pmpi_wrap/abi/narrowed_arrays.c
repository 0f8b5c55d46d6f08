#include "pmpi_wrap/abi/narrowed_arrays.h"

#include "pmpi_wrap/abi/host_api.h"

#include <stdlib.h>

/* As narrowed.c, this file is compiled twice. */
#ifndef NEXT
#define NEXT(name)         MPI_##name
#define NARROWED_ARRAYS_OF narrowed_arrays_of
#endif

#define CALLS(X)      \
    X(Gatherv)        \
    X(Scatterv)       \
    X(Allgatherv)     \
    X(Alltoallv)      \
    X(Alltoallw)      \
    X(Reduce_scatter) \
    X(Buffer_detach)  \
    X(Win_shared_query)

#define X(name) __typeof__(PMPI_##name) NEXT(name);
CALLS(X)
#undef X

static int narrow_count(MPI_Count count)
{
    return count == (int)count ? (int)count : -1;
}

/* Counts and displacements of n ranks as ints. If the count or the displacement of a rank does not
 * fit, its count becomes -1, for which the host reports MPI_ERR_COUNT. */
struct layout {
    int *counts, *displacements; /* NULL: not significant */
};

/* `displacements` may be NULL. False: no memory. */
static bool layout_open(struct layout *l, int n, const MPI_Count counts[],
                        const MPI_Aint displacements[])
{
    l->counts = malloc(2 * sizeof *l->counts * (size_t)n);
    if (!l->counts)
        return false;
    l->displacements = l->counts + n;
    for (int i = 0; i < n; i++) {
        MPI_Aint displacement = displacements && counts[i] ? displacements[i] : 0;
        l->displacements[i] = (int)displacement;
        l->counts[i] = displacement == (int)displacement ? narrow_count(counts[i]) : -1;
    }
    return true;
}

/* The number of ranks with which each rank exchanges data. */
static int get_peers(MPI_Comm comm, int *n)
{
    int inter = 0;
    int result = host.Comm_test_inter(comm, &inter);
    if (result != MPI_SUCCESS)
        return result;
    return inter ? host.Comm_remote_size(comm, n) : host.Comm_size(comm, n);
}

static bool is_root(MPI_Comm comm, int root)
{
    int inter = 0, rank = MPI_PROC_NULL;
    host.Comm_test_inter(comm, &inter);
    host.Comm_rank(comm, &rank);
    return root == (inter ? MPI_ROOT : rank);
}

static int raise_no_memory(MPI_Comm comm)
{
    host.Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

/* The layout of the data of all peers. */
static int layout_of_peers(struct layout *l, MPI_Comm comm, const MPI_Count counts[],
                           const MPI_Aint displacements[])
{
    int n, result = get_peers(comm, &n);
    if (result != MPI_SUCCESS)
        return result;
    return layout_open(l, n, counts, displacements) ? MPI_SUCCESS : raise_no_memory(comm);
}

static int narrowed_Gatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type,
                              void *receive, const MPI_Count counts[],
                              const MPI_Aint displacements[], MPI_Datatype receive_type, int root,
                              MPI_Comm comm)
{
    struct layout l = {.counts = NULL};
    int result =
        is_root(comm, root) ? layout_of_peers(&l, comm, counts, displacements) : MPI_SUCCESS;
    if (result == MPI_SUCCESS)
        result = NEXT(Gatherv)(send, narrow_count(send_count), send_type, receive, l.counts,
                               l.displacements, receive_type, root, comm);
    free(l.counts);
    return result;
}

static int narrowed_Scatterv_c(const void *send, const MPI_Count counts[],
                               const MPI_Aint displacements[], MPI_Datatype send_type,
                               void *receive, MPI_Count receive_count, MPI_Datatype receive_type,
                               int root, MPI_Comm comm)
{
    struct layout l = {.counts = NULL};
    int result =
        is_root(comm, root) ? layout_of_peers(&l, comm, counts, displacements) : MPI_SUCCESS;
    if (result == MPI_SUCCESS)
        result = NEXT(Scatterv)(send, l.counts, l.displacements, send_type, receive,
                                narrow_count(receive_count), receive_type, root, comm);
    free(l.counts);
    return result;
}

static int narrowed_Allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type,
                                 void *receive, const MPI_Count counts[],
                                 const MPI_Aint displacements[], MPI_Datatype receive_type,
                                 MPI_Comm comm)
{
    struct layout l = {.counts = NULL};
    int result = layout_of_peers(&l, comm, counts, displacements);
    if (result == MPI_SUCCESS)
        result = NEXT(Allgatherv)(send, narrow_count(send_count), send_type, receive, l.counts,
                                  l.displacements, receive_type, comm);
    free(l.counts);
    return result;
}

/* With MPI_IN_PLACE, the send counts, displacements and types are not significant. */
static int layouts_of_alltoall(struct layout *out, struct layout *in, MPI_Comm comm,
                               const MPI_Count send_counts[], const MPI_Aint send_displacements[],
                               const MPI_Count receive_counts[],
                               const MPI_Aint receive_displacements[], bool in_place)
{
    int result =
        in_place ? MPI_SUCCESS : layout_of_peers(out, comm, send_counts, send_displacements);
    return result == MPI_SUCCESS ? layout_of_peers(in, comm, receive_counts, receive_displacements)
                                 : result;
}

static int narrowed_Alltoallv_c(const void *send, const MPI_Count send_counts[],
                                const MPI_Aint send_displacements[], MPI_Datatype send_type,
                                void *receive, const MPI_Count receive_counts[],
                                const MPI_Aint receive_displacements[], MPI_Datatype receive_type,
                                MPI_Comm comm)
{
    struct layout out = {.counts = NULL}, in = {.counts = NULL};
    int result = layouts_of_alltoall(&out, &in, comm, send_counts, send_displacements,
                                     receive_counts, receive_displacements, send == MPI_IN_PLACE);
    if (result == MPI_SUCCESS)
        result = NEXT(Alltoallv)(send, out.counts, out.displacements, send_type, receive, in.counts,
                                 in.displacements, receive_type, comm);
    free(out.counts);
    free(in.counts);
    return result;
}

static int narrowed_Alltoallw_c(const void *send, const MPI_Count send_counts[],
                                const MPI_Aint send_displacements[],
                                const MPI_Datatype send_types[], void *receive,
                                const MPI_Count receive_counts[],
                                const MPI_Aint receive_displacements[],
                                const MPI_Datatype receive_types[], MPI_Comm comm)
{
    struct layout out = {.counts = NULL}, in = {.counts = NULL};
    int result = layouts_of_alltoall(&out, &in, comm, send_counts, send_displacements,
                                     receive_counts, receive_displacements, send == MPI_IN_PLACE);
    if (result == MPI_SUCCESS)
        result = NEXT(Alltoallw)(send, out.counts, out.displacements, send_types, receive,
                                 in.counts, in.displacements, receive_types, comm);
    free(out.counts);
    free(in.counts);
    return result;
}

/* Also on an intercommunicator, the counts are those of the ranks of the own group. */
static int narrowed_Reduce_scatter_c(const void *send, void *receive, const MPI_Count counts[],
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct layout l = {.counts = NULL};
    int n, result = host.Comm_size(comm, &n);
    if (result != MPI_SUCCESS)
        return result;
    if (!layout_open(&l, n, counts, NULL))
        return raise_no_memory(comm);
    result = NEXT(Reduce_scatter)(send, receive, l.counts, type, op, comm);
    free(l.counts);
    return result;
}

static int narrowed_Buffer_detach_c(void *buffer, MPI_Count *size)
{
    int narrow_size = 0;
    int result = NEXT(Buffer_detach)(buffer, &narrow_size);
    if (result == MPI_SUCCESS)
        *size = narrow_size;
    return result;
}

static int narrowed_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                                       void *base)
{
    int narrow_unit = 0;
    int result = NEXT(Win_shared_query)(win, rank, size, &narrow_unit, base);
    if (result == MPI_SUCCESS)
        *disp_unit = narrow_unit;
    return result;
}

mpi_fn *NARROWED_ARRAYS_OF(enum call call)
{
    switch (call) {
#define X(name)           \
    case CALL_##name##_c: \
        return (mpi_fn *)narrowed_##name##_c;
        CALLS(X)
#undef X
    default:
        return NULL;
    }
}
