/* The collective calls (MPI-4.0, chapter 6): one handler per MPI call. Each translates its
 * arguments into the form of collectives.h, and calls the host if that returns DEFERRED. */
#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/collectives/collectives.h"
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/nodes/across_nodes.h"

#define OR_HOST_OF_TEAM(result, by_host) OR_HOST(result, team_after_host(comm, by_host))

static inline struct rank_blocks varying_blocks(const void *address, const COUNT counts[],
                                                const DISPLACEMENT displs[], MPI_Datatype type)
{
    return (struct rank_blocks){.address = address,
                                .counts = counts,
                                .displs = displs,
                                .large_counts = IS_LARGE,
                                .type = type};
}

#ifndef LARGE_COUNT
int accel_Barrier(MPI_Comm comm)
{
    struct team *t = team_for(comm, CALL_Barrier, true);
    if (UNLIKELY(!t))
        return OR_HOST_OF_TEAM(across_nodes_barrier(comm), host.Barrier(comm));
    coll_barrier(t);
    return finish_call(CALL_Barrier, comm, COLL_OK, 0);
}
#endif

int SUFFIXED(accel_Bcast)(void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return OR_HOST_OF_TEAM(
        do_bcast(SUFFIXED(CALL_Bcast), (struct data){buffer, count, type}, root, comm),
        host.SUFFIXED(Bcast)(buffer, count, type, root, comm));
}

int SUFFIXED(accel_Gather)(const void *from, COUNT count, MPI_Datatype type, void *to,
                           COUNT to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct rank_blocks all = {.address = to, .count = to_count, .type = to_type};
    return OR_HOST_OF_TEAM(
        do_gather(SUFFIXED(CALL_Gather), (struct data){from, count, type}, &all, root, comm),
        host.SUFFIXED(Gather)(from, count, type, to, to_count, to_type, root, comm));
}

int SUFFIXED(accel_Gatherv)(const void *from, COUNT count, MPI_Datatype type, void *to,
                            const COUNT counts[], const DISPLACEMENT displs[], MPI_Datatype to_type,
                            int root, MPI_Comm comm)
{
    struct rank_blocks all = varying_blocks(to, counts, displs, to_type);
    return OR_HOST_OF_TEAM(
        do_gather(SUFFIXED(CALL_Gatherv), (struct data){from, count, type}, &all, root, comm),
        host.SUFFIXED(Gatherv)(from, count, type, to, counts, displs, to_type, root, comm));
}

int SUFFIXED(accel_Scatter)(const void *from, COUNT count, MPI_Datatype type, void *to,
                            COUNT to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    struct rank_blocks all = {.address = from, .count = count, .type = type};
    return OR_HOST_OF_TEAM(
        do_scatter(SUFFIXED(CALL_Scatter), &all, (struct data){to, to_count, to_type}, root, comm),
        host.SUFFIXED(Scatter)(from, count, type, to, to_count, to_type, root, comm));
}

int SUFFIXED(accel_Scatterv)(const void *from, const COUNT counts[], const DISPLACEMENT displs[],
                             MPI_Datatype type, void *to, COUNT to_count, MPI_Datatype to_type,
                             int root, MPI_Comm comm)
{
    struct rank_blocks all = varying_blocks(from, counts, displs, type);
    return OR_HOST_OF_TEAM(
        do_scatter(SUFFIXED(CALL_Scatterv), &all, (struct data){to, to_count, to_type}, root, comm),
        host.SUFFIXED(Scatterv)(from, counts, displs, type, to, to_count, to_type, root, comm));
}

int SUFFIXED(accel_Allgather)(const void *from, COUNT count, MPI_Datatype type, void *to,
                              COUNT to_count, MPI_Datatype to_type, MPI_Comm comm)
{
    struct rank_blocks all = {.address = to, .count = to_count, .type = to_type};
    return OR_HOST_OF_TEAM(
        do_allgather(SUFFIXED(CALL_Allgather), (struct data){from, count, type}, &all, comm),
        host.SUFFIXED(Allgather)(from, count, type, to, to_count, to_type, comm));
}

int SUFFIXED(accel_Allgatherv)(const void *from, COUNT count, MPI_Datatype type, void *to,
                               const COUNT counts[], const DISPLACEMENT displs[],
                               MPI_Datatype to_type, MPI_Comm comm)
{
    struct rank_blocks all = varying_blocks(to, counts, displs, to_type);
    return OR_HOST_OF_TEAM(
        do_allgather(SUFFIXED(CALL_Allgatherv), (struct data){from, count, type}, &all, comm),
        host.SUFFIXED(Allgatherv)(from, count, type, to, counts, displs, to_type, comm));
}

int SUFFIXED(accel_Alltoall)(const void *from, COUNT count, MPI_Datatype type, void *to,
                             COUNT to_count, MPI_Datatype to_type, MPI_Comm comm)
{
    struct rank_blocks out = {.address = from, .count = count, .type = type};
    struct rank_blocks in = {.address = to, .count = to_count, .type = to_type};
    return OR_HOST_OF_TEAM(do_alltoall(SUFFIXED(CALL_Alltoall), &out, &in, comm),
                           host.SUFFIXED(Alltoall)(from, count, type, to, to_count, to_type, comm));
}

int SUFFIXED(accel_Alltoallv)(const void *from, const COUNT counts[], const DISPLACEMENT displs[],
                              MPI_Datatype type, void *to, const COUNT to_counts[],
                              const DISPLACEMENT to_displs[], MPI_Datatype to_type, MPI_Comm comm)
{
    struct rank_blocks out = varying_blocks(from, counts, displs, type);
    struct rank_blocks in = varying_blocks(to, to_counts, to_displs, to_type);
    return OR_HOST_OF_TEAM(do_alltoall(SUFFIXED(CALL_Alltoallv), &out, &in, comm),
                           host.SUFFIXED(Alltoallv)(from, counts, displs, type, to, to_counts,
                                                    to_displs, to_type, comm));
}

int SUFFIXED(accel_Alltoallw)(const void *from, const COUNT counts[], const DISPLACEMENT displs[],
                              const MPI_Datatype types[], void *to, const COUNT to_counts[],
                              const DISPLACEMENT to_displs[], const MPI_Datatype to_types[],
                              MPI_Comm comm)
{
    struct rank_blocks out = {.address = from,
                              .counts = counts,
                              .displs = displs,
                              .large_counts = IS_LARGE,
                              .types = types};
    struct rank_blocks in = {.address = to,
                             .counts = to_counts,
                             .displs = to_displs,
                             .large_counts = IS_LARGE,
                             .types = to_types};
    return OR_HOST_OF_TEAM(do_alltoall(SUFFIXED(CALL_Alltoallw), &out, &in, comm),
                           host.SUFFIXED(Alltoallw)(from, counts, displs, types, to, to_counts,
                                                    to_displs, to_types, comm));
}

int SUFFIXED(accel_Reduce)(const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op op,
                           int root, MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    return OR_HOST_OF_TEAM(do_reduce(SUFFIXED(CALL_Reduce), &r, root, comm),
                           host.SUFFIXED(Reduce)(from, to, count, type, op, root, comm));
}

int SUFFIXED(accel_Allreduce)(const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    return OR_HOST_OF_TEAM(do_allreduce(SUFFIXED(CALL_Allreduce), &r, comm),
                           host.SUFFIXED(Allreduce)(from, to, count, type, op, comm));
}

int SUFFIXED(accel_Reduce_scatter)(const void *from, void *to, const COUNT counts[],
                                   MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, 0, type, op};
    struct rank_blocks shares = {.counts = counts, .large_counts = IS_LARGE};
    return OR_HOST_OF_TEAM(do_reduce_scatter(SUFFIXED(CALL_Reduce_scatter), r, shares, comm),
                           host.SUFFIXED(Reduce_scatter)(from, to, counts, type, op, comm));
}

int SUFFIXED(accel_Reduce_scatter_block)(const void *from, void *to, COUNT count, MPI_Datatype type,
                                         MPI_Op op, MPI_Comm comm)
{
    struct reduction r = {from, to, 0, type, op};
    struct rank_blocks shares = {.count = count};
    return OR_HOST_OF_TEAM(do_reduce_scatter(SUFFIXED(CALL_Reduce_scatter_block), r, shares, comm),
                           host.SUFFIXED(Reduce_scatter_block)(from, to, count, type, op, comm));
}

int SUFFIXED(accel_Scan)(const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    return OR_HOST_OF_TEAM(do_scan(SUFFIXED(CALL_Scan), &r, false, comm),
                           host.SUFFIXED(Scan)(from, to, count, type, op, comm));
}

int SUFFIXED(accel_Exscan)(const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm)
{
    struct reduction r = {from, to, count, type, op};
    return OR_HOST_OF_TEAM(do_scan(SUFFIXED(CALL_Exscan), &r, true, comm),
                           host.SUFFIXED(Exscan)(from, to, count, type, op, comm));
}
