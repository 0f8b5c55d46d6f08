#include "pmpi_wrap/abi/collectives/contribution.h"

#include "pmpi_wrap/abi/host_api.h"

uint64_t data_bytes(int64_t count, long datatype, int rank)
{
    int size = 0;
    if (rank == MPI_PROC_NULL || count <= 0 ||
        host.Type_size(HANDLE_OF(MPI_Datatype, datatype), &size) || size < 0)
        return 0;
    return (uint64_t)count * (uint64_t)size;
}

static bool is_in_place(long buffer)
{
    return (const void *)buffer == MPI_IN_PLACE;
}

/* The bytes that a rank sends in a call with a root. The root of an intercommunicator passes
 * MPI_ROOT and is not counted. */
static uint64_t block(const long data[3], long root)
{
    return is_in_place(data[0]) || (int)root == MPI_ROOT
               ? 0
               : data_bytes((int)data[1], data[2], (int)root);
}

/* ---- the ranks that exchange data ---- */

static int others_of(MPI_Comm comm)
{
    int inter = 0, size = 0;
    host.Comm_test_inter(comm, &inter);
    if (inter)
        host.Comm_remote_size(comm, &size);
    else
        host.Comm_size(comm, &size);
    return size;
}

static int size_of_contribution(MPI_Comm comm)
{
    int size = 0;
    host.Comm_size(comm, &size);
    return size;
}

/* On the edge of a grid, neighbours that do not exist are counted, too. */
static int neighbours_of(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED, count = 0, rank, in, weighted;
    host.Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        host.Cartdim_get(comm, &count);
        return 2 * count;
    }
    if (kind == MPI_GRAPH && host.Comm_rank(comm, &rank) == MPI_SUCCESS)
        host.Graph_neighbors_count(comm, rank, &count);
    if (kind == MPI_DIST_GRAPH)
        host.Dist_graph_neighbors_count(comm, &in, &count, &weighted);
    return count;
}

/* ---- one block for each of these ranks ---- */

static uint64_t blocks(const int counts[], long type, int ranks)
{
    int64_t sum = 0;
    for (int i = 0; i < ranks; i++)
        sum += counts[i];
    return data_bytes(sum, type, 0);
}

static uint64_t blocks_of_types(const int counts[], const MPI_Datatype types[], int ranks)
{
    uint64_t sum = 0;
    for (int i = 0; i < ranks; i++)
        sum += data_bytes(counts[i], (long)BITS(types[i]), 0);
    return sum;
}

static uint64_t of_allgatherv(const long a[])
{
    int rank = 0;
    MPI_Comm comm = HANDLE_OF(MPI_Comm, a[7]);
    if (!is_in_place(a[0]))
        return block(a, 0);
    host.Comm_rank(comm, &rank);
    return data_bytes(((const int *)a[4])[rank], a[6], 0);
}

/* The arguments behind each buffer are counts, displacements and types. */
static const long *sent(const long a[])
{
    return is_in_place(a[0]) ? a + 4 : a;
}

uint64_t contribution(enum call call, const long a[])
{
    switch (call) {
    case CALL_Igather:
        return block(a, a[6]);
    case CALL_Igatherv:
        return block(a, a[7]);
    case CALL_Iscatter:
        return block(a + 3, a[6]);
    case CALL_Iscatterv:
        return block(a + 4, a[7]);
    case CALL_Iallgatherv:
        return of_allgatherv(a);
    case CALL_Ialltoall:
        return data_bytes((int64_t)(int)a[4] * others_of(HANDLE_OF(MPI_Comm, a[6])), a[5], 0);
    case CALL_Ialltoallv:
        return blocks((const int *)sent(a)[1], sent(a)[3], others_of(HANDLE_OF(MPI_Comm, a[8])));
    case CALL_Ialltoallw:
        return blocks_of_types((const int *)sent(a)[1], (const MPI_Datatype *)sent(a)[3],
                               others_of(HANDLE_OF(MPI_Comm, a[8])));
    case CALL_Ireduce_scatter:
        return blocks((const int *)a[2], a[3], size_of_contribution(HANDLE_OF(MPI_Comm, a[5])));
    case CALL_Ireduce_scatter_block:
        return data_bytes((int64_t)(int)a[2] * size_of_contribution(HANDLE_OF(MPI_Comm, a[5])),
                          a[3], 0);
    case CALL_Neighbor_alltoall:
    case CALL_Ineighbor_alltoall:
        return data_bytes((int64_t)(int)a[1] * neighbours_of(HANDLE_OF(MPI_Comm, a[6])), a[2], 0);
    case CALL_Neighbor_alltoallv:
    case CALL_Ineighbor_alltoallv:
        return blocks((const int *)a[1], a[3], neighbours_of(HANDLE_OF(MPI_Comm, a[8])));
    case CALL_Neighbor_alltoallw:
    case CALL_Ineighbor_alltoallw:
        return blocks_of_types((const int *)a[1], (const MPI_Datatype *)a[3],
                               neighbours_of(HANDLE_OF(MPI_Comm, a[8])));
    default:
        return 0;
    }
}
