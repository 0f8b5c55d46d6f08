/* The collective calls of MPI, each in the shape of its kind. */
#include "pmpi_wrap/abi/collectives/collectives.h"

int accel_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int result = do_bcast(CALL_Bcast, (struct data){buffer, count, type}, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Bcast(buffer, count, type, root, comm));
}

int accel_Gather(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                 MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct all all = {.at = to, .count = to_count, .type = to_type};
    int result = do_gather(CALL_Gather, (struct data){from, count, type}, &all, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Gather(from, count, type, to, to_count, to_type, root, comm));
}

int accel_Gatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[],
                  const int displs[], MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct all all = {.at = to, .counts = counts, .displs = displs, .type = to_type};
    int result = do_gather(CALL_Gatherv, (struct data){from, count, type}, &all, root, comm);
    return LIKELY(result != DEFERRED) ? result
                                      : comm_used(comm, host.Gatherv(from, count, type, to, counts,
                                                                     displs, to_type, root, comm));
}

int accel_Scatter(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                  MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct all all = {.at = from, .count = count, .type = type};
    int result = do_scatter(CALL_Scatter, &all, (struct data){to, to_count, to_type}, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm,
                           host.Scatter(from, count, type, to, to_count, to_type, root, comm));
}

int accel_Scatterv(const void *from, const int counts[], const int displs[], MPI_Datatype type,
                   void *to, int to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct all all = {.at = from, .counts = counts, .displs = displs, .type = type};
    int result = do_scatter(CALL_Scatterv, &all, (struct data){to, to_count, to_type}, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Scatterv(from, counts, displs, type, to, to_count, to_type,
                                               root, comm));
}

int accel_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                    MPI_Datatype to_type, MPI_Comm comm)
{
    struct all all = {.at = to, .count = to_count, .type = to_type};
    int result = do_allgather(CALL_Allgather, (struct data){from, count, type}, &all, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Allgather(from, count, type, to, to_count, to_type, comm));
}

int accel_Allgatherv(const void *from, int count, MPI_Datatype type, void *to, const int counts[],
                     const int displs[], MPI_Datatype to_type, MPI_Comm comm)
{
    struct all all = {.at = to, .counts = counts, .displs = displs, .type = to_type};
    int result = do_allgather(CALL_Allgatherv, (struct data){from, count, type}, &all, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm,
                           host.Allgatherv(from, count, type, to, counts, displs, to_type, comm));
}

int accel_Alltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count,
                   MPI_Datatype to_type, MPI_Comm comm)
{
    struct all out = {.at = from, .count = count, .type = type};
    struct all in = {.at = to, .count = to_count, .type = to_type};
    int result = do_alltoall(CALL_Alltoall, &out, &in, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Alltoall(from, count, type, to, to_count, to_type, comm));
}

int accel_Alltoallv(const void *from, const int counts[], const int displs[], MPI_Datatype type,
                    void *to, const int to_counts[], const int to_displs[], MPI_Datatype to_type,
                    MPI_Comm comm)
{
    struct all out = {.at = from, .counts = counts, .displs = displs, .type = type};
    struct all in = {.at = to, .counts = to_counts, .displs = to_displs, .type = to_type};
    int result = do_alltoall(CALL_Alltoallv, &out, &in, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Alltoallv(from, counts, displs, type, to, to_counts,
                                                to_displs, to_type, comm));
}

int accel_Alltoallw(const void *from, const int counts[], const int displs[],
                    const MPI_Datatype types[], void *to, const int to_counts[],
                    const int to_displs[], const MPI_Datatype to_types[], MPI_Comm comm)
{
    struct all out = {.at = from, .counts = counts, .displs = displs, .types = types};
    struct all in = {.at = to, .counts = to_counts, .displs = to_displs, .types = to_types};
    int result = do_alltoall(CALL_Alltoallw, &out, &in, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Alltoallw(from, counts, displs, types, to, to_counts,
                                                to_displs, to_types, comm));
}

int accel_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
                 MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_reduce(CALL_Reduce, &r, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Reduce(from, to, count, type, op, root, comm));
}

int accel_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_allreduce(CALL_Allreduce, &r, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Allreduce(from, to, count, type, op, comm));
}

int accel_Reduce_scatter(const void *from, void *to, const int counts[], MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, 0, type, op};
    struct all shares = {.counts = counts};
    int result = do_reduce_scatter(CALL_Reduce_scatter, r, shares, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Reduce_scatter(from, to, counts, type, op, comm));
}

int accel_Reduce_scatter_block(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm)
{
    struct reduction r = {from, to, 0, type, op};
    struct all shares = {.count = count};
    int result = do_reduce_scatter(CALL_Reduce_scatter_block, r, shares, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Reduce_scatter_block(from, to, count, type, op, comm));
}

int accel_Scan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_scan(CALL_Scan, &r, false, comm);
    return LIKELY(result != DEFERRED) ? result
                                      : comm_used(comm, host.Scan(from, to, count, type, op, comm));
}

int accel_Exscan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_scan(CALL_Exscan, &r, true, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Exscan(from, to, count, type, op, comm));
}

#if MPI_VERSION >= 4
int accel_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int result = do_bcast(CALL_Bcast_c, (struct data){buffer, count, type}, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Bcast_c(buffer, count, type, root, comm));
}

int accel_Gather_c(const void *from, MPI_Count count, MPI_Datatype type, void *to,
                   MPI_Count to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct all all = {.at = to, .count = to_count, .type = to_type};
    int result = do_gather(CALL_Gather_c, (struct data){from, count, type}, &all, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm,
                           host.Gather_c(from, count, type, to, to_count, to_type, root, comm));
}

int accel_Gatherv_c(const void *from, MPI_Count count, MPI_Datatype type, void *to,
                    const MPI_Count counts[], const MPI_Aint displs[], MPI_Datatype to_type,
                    int root, MPI_Comm comm)
{
    struct all all = {.at = to, .counts = counts, .displs = displs, .wide = true, .type = to_type};
    int result = do_gather(CALL_Gatherv_c, (struct data){from, count, type}, &all, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Gatherv_c(from, count, type, to, counts, displs, to_type,
                                                root, comm));
}

int accel_Scatter_c(const void *from, MPI_Count count, MPI_Datatype type, void *to,
                    MPI_Count to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct all all = {.at = from, .count = count, .type = type};
    int result = do_scatter(CALL_Scatter_c, &all, (struct data){to, to_count, to_type}, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm,
                           host.Scatter_c(from, count, type, to, to_count, to_type, root, comm));
}

int accel_Scatterv_c(const void *from, const MPI_Count counts[], const MPI_Aint displs[],
                     MPI_Datatype type, void *to, MPI_Count to_count, MPI_Datatype to_type,
                     int root, MPI_Comm comm)
{
    struct all all = {.at = from, .counts = counts, .displs = displs, .wide = true, .type = type};
    int result =
        do_scatter(CALL_Scatterv_c, &all, (struct data){to, to_count, to_type}, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Scatterv_c(from, counts, displs, type, to, to_count, to_type,
                                                 root, comm));
}

int accel_Allgather_c(const void *from, MPI_Count count, MPI_Datatype type, void *to,
                      MPI_Count to_count, MPI_Datatype to_type, MPI_Comm comm)
{
    struct all all = {.at = to, .count = to_count, .type = to_type};
    int result = do_allgather(CALL_Allgather_c, (struct data){from, count, type}, &all, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Allgather_c(from, count, type, to, to_count, to_type, comm));
}

int accel_Allgatherv_c(const void *from, MPI_Count count, MPI_Datatype type, void *to,
                       const MPI_Count counts[], const MPI_Aint displs[], MPI_Datatype to_type,
                       MPI_Comm comm)
{
    struct all all = {.at = to, .counts = counts, .displs = displs, .wide = true, .type = to_type};
    int result = do_allgather(CALL_Allgatherv_c, (struct data){from, count, type}, &all, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm,
                           host.Allgatherv_c(from, count, type, to, counts, displs, to_type, comm));
}

int accel_Alltoall_c(const void *from, MPI_Count count, MPI_Datatype type, void *to,
                     MPI_Count to_count, MPI_Datatype to_type, MPI_Comm comm)
{
    struct all out = {.at = from, .count = count, .type = type};
    struct all in = {.at = to, .count = to_count, .type = to_type};
    int result = do_alltoall(CALL_Alltoall_c, &out, &in, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Alltoall_c(from, count, type, to, to_count, to_type, comm));
}

int accel_Alltoallv_c(const void *from, const MPI_Count counts[], const MPI_Aint displs[],
                      MPI_Datatype type, void *to, const MPI_Count to_counts[],
                      const MPI_Aint to_displs[], MPI_Datatype to_type, MPI_Comm comm)
{
    struct all out = {.at = from, .counts = counts, .displs = displs, .wide = true, .type = type};
    struct all in = {
        .at = to, .counts = to_counts, .displs = to_displs, .wide = true, .type = to_type};
    int result = do_alltoall(CALL_Alltoallv_c, &out, &in, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Alltoallv_c(from, counts, displs, type, to, to_counts,
                                                  to_displs, to_type, comm));
}

int accel_Alltoallw_c(const void *from, const MPI_Count counts[], const MPI_Aint displs[],
                      const MPI_Datatype types[], void *to, const MPI_Count to_counts[],
                      const MPI_Aint to_displs[], const MPI_Datatype to_types[], MPI_Comm comm)
{
    struct all out = {.at = from, .counts = counts, .displs = displs, .wide = true, .types = types};
    struct all in = {
        .at = to, .counts = to_counts, .displs = to_displs, .wide = true, .types = to_types};
    int result = do_alltoall(CALL_Alltoallw_c, &out, &in, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Alltoallw_c(from, counts, displs, types, to, to_counts,
                                                  to_displs, to_types, comm));
}

int accel_Reduce_c(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   int root, MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_reduce(CALL_Reduce_c, &r, root, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Reduce_c(from, to, count, type, op, root, comm));
}

int accel_Allreduce_c(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_allreduce(CALL_Allreduce_c, &r, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Allreduce_c(from, to, count, type, op, comm));
}

int accel_Reduce_scatter_c(const void *from, void *to, const MPI_Count counts[], MPI_Datatype type,
                           MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, 0, type, op};
    struct all shares = {.counts = counts, .wide = true};
    int result = do_reduce_scatter(CALL_Reduce_scatter_c, r, shares, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Reduce_scatter_c(from, to, counts, type, op, comm));
}

int accel_Reduce_scatter_block_c(const void *from, void *to, MPI_Count count, MPI_Datatype type,
                                 MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, 0, type, op};
    struct all shares = {.count = count};
    int result = do_reduce_scatter(CALL_Reduce_scatter_block_c, r, shares, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Reduce_scatter_block_c(from, to, count, type, op, comm));
}

int accel_Scan_c(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                 MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_scan(CALL_Scan_c, &r, false, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Scan_c(from, to, count, type, op, comm));
}

int accel_Exscan_c(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    int result = do_scan(CALL_Exscan_c, &r, true, comm);
    return LIKELY(result != DEFERRED)
               ? result
               : comm_used(comm, host.Exscan_c(from, to, count, type, op, comm));
}
#endif
