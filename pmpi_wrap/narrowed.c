#include "pmpi_wrap/narrowed.h"

#include "pmpi_wrap/call_types.h"

/* This file is compiled twice: for MPI_X_c, which calls MPI_X, and in narrowed_pmpi.c for PMPI_X_c,
 * which calls PMPI_X. So a tool sees what it would see if the program had narrowed the counts. */
#ifndef NEXT
#define NEXT(name)  MPI_##name
#define NARROWED_OF narrowed_of
#endif

/* X(name, number of arguments, the counts and units that become ints); letters count the arguments
 * from `a`, and are repeated where there are fewer than three. */
#define NARROWED(X)                     \
    X(Win_create, 6, c, c, c)           \
    X(Win_allocate, 6, b, b, b)         \
    X(Win_allocate_shared, 6, b, b, b)  \
    X(Put, 8, b, f, b)                  \
    X(Get, 8, b, f, b)                  \
    X(Accumulate, 9, b, f, b)           \
    X(Get_accumulate, 12, b, e, i)      \
    X(Rput, 9, b, f, b)                 \
    X(Rget, 9, b, f, b)                 \
    X(Raccumulate, 10, b, f, b)         \
    X(Rget_accumulate, 13, b, e, i)     \
    X(Buffer_attach, 2, b, b, b)        \
    X(Bsend, 6, b, b, b)                \
    X(Ibsend, 7, b, b, b)               \
    X(Bsend_init, 7, b, b, b)           \
    X(Bcast, 5, b, b, b)                \
    X(Gather, 8, b, e, b)               \
    X(Scatter, 8, b, e, b)              \
    X(Allgather, 7, b, e, b)            \
    X(Alltoall, 7, b, e, b)             \
    X(Reduce, 7, c, c, c)               \
    X(Allreduce, 6, c, c, c)            \
    X(Reduce_scatter_block, 6, c, c, c) \
    X(Scan, 6, c, c, c)                 \
    X(Exscan, 6, c, c, c)               \
    X(Send, 6, b, b, b)                 \
    X(Ssend, 6, b, b, b)                \
    X(Rsend, 6, b, b, b)                \
    X(Isend, 7, b, b, b)                \
    X(Issend, 7, b, b, b)               \
    X(Irsend, 7, b, b, b)               \
    X(Sendrecv, 12, b, g, b)            \
    X(Sendrecv_replace, 9, b, b, b)     \
    X(Isendrecv, 12, b, g, b)           \
    X(Isendrecv_replace, 9, b, b, b)    \
    X(Recv, 7, b, b, b)                 \
    X(Irecv, 7, b, b, b)                \
    X(Mrecv, 5, b, b, b)                \
    X(Imrecv, 5, b, b, b)               \
    X(Send_init, 7, b, b, b)            \
    X(Ssend_init, 7, b, b, b)           \
    X(Rsend_init, 7, b, b, b)           \
    X(Recv_init, 7, b, b, b)

/* A count that is too large becomes -1, for which the host reports MPI_ERR_COUNT, and a unit
 * becomes -1, for which it reports MPI_ERR_DISP. It ignores both where the argument is not
 * significant. */
static long narrow(long count)
{
    return count == (int)count ? count : -1;
}

#define X(name, n, first, second, third)   \
    long NEXT(name)(TYPES_##n);            \
    static long narrowed_##name(TYPES_##n) \
    {                                      \
        first = narrow(first);             \
        second = narrow(second);           \
        third = narrow(third);             \
        return NEXT(name)(NAMES_##n);      \
    }
NARROWED(X)
#undef X

/* A host may ignore hints. */
long NEXT(Comm_idup)(TYPES_3);
static long without_info(TYPES_4)
{
    (void)b;
    return NEXT(Comm_idup)(a, c, d);
}

mpi_fn *NARROWED_OF(enum call call)
{
    switch (call) {
#define X(name, n, first, second, third) \
    case CALL_##name##_c:                \
        return (mpi_fn *)narrowed_##name;
        NARROWED(X)
#undef X
    case CALL_Comm_idup_with_info:
        return (mpi_fn *)without_info;
    default:
        return NULL;
    }
}
