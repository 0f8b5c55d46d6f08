/* The one-sided operations (MPI-4.0, 12.3): MPI_Put, MPI_Get, MPI_Accumulate, MPI_Get_accumulate,
 * their request-based variants, MPI_Fetch_and_op and MPI_Compare_and_swap.
 *
 * Each calls its function in operation.h, which tries the fast implementation and then the slow
 * one. If that returns DEFERRED, OR_HOST calls the host.
 */
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/operation.h"

/* The arguments that most of these calls have. */
#define ORIGIN   ((struct data){origin, origin_count, origin_type})
#define TARGET   ((struct data){NULL, target_count, target_type})
#define LOCATION ((struct location){rank, disp})

/* A put or get of the host may show that an epoch is open. */
#define PROBED(by_host) spanning_probed(window, rank, by_host)

int SUFFIXED(accel_Put)(const void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, COUNT target_count, MPI_Datatype target_type, MPI_Win window)
{
    return OR_HOST(do_transfer(SUFFIXED(CALL_Put), true, ORIGIN, LOCATION, TARGET, window, NULL),
                   PROBED(host.SUFFIXED(Put)(origin, origin_count, origin_type, rank, disp,
                                             target_count, target_type, window)));
}

int SUFFIXED(accel_Get)(void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, COUNT target_count, MPI_Datatype target_type, MPI_Win window)
{
    return OR_HOST(do_transfer(SUFFIXED(CALL_Get), false, ORIGIN, LOCATION, TARGET, window, NULL),
                   PROBED(host.SUFFIXED(Get)(origin, origin_count, origin_type, rank, disp,
                                             target_count, target_type, window)));
}

int SUFFIXED(accel_Accumulate)(const void *origin, COUNT origin_count, MPI_Datatype origin_type,
                               int rank, MPI_Aint disp, COUNT target_count,
                               MPI_Datatype target_type, MPI_Op op, MPI_Win window)
{
    return OR_HOST(
        do_accumulate(SUFFIXED(CALL_Accumulate), ORIGIN, NULL, LOCATION, TARGET, op, window, NULL),
        host.SUFFIXED(Accumulate)(origin, origin_count, origin_type, rank, disp, target_count,
                                  target_type, op, window));
}

int SUFFIXED(accel_Get_accumulate)(const void *origin, COUNT origin_count, MPI_Datatype origin_type,
                                   void *result, COUNT result_count, MPI_Datatype result_type,
                                   int rank, MPI_Aint disp, COUNT target_count,
                                   MPI_Datatype target_type, MPI_Op op, MPI_Win window)
{
    struct data back = {result, result_count, result_type};
    return OR_HOST(do_accumulate(SUFFIXED(CALL_Get_accumulate), ORIGIN, &back, LOCATION, TARGET, op,
                                 window, NULL),
                   host.SUFFIXED(Get_accumulate)(origin, origin_count, origin_type, result,
                                                 result_count, result_type, rank, disp,
                                                 target_count, target_type, op, window));
}

int SUFFIXED(accel_Rput)(const void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                         MPI_Aint disp, COUNT target_count, MPI_Datatype target_type,
                         MPI_Win window, MPI_Request *request)
{
    return OR_HOST(
        do_transfer(SUFFIXED(CALL_Rput), true, ORIGIN, LOCATION, TARGET, window, request),
        PROBED(host.SUFFIXED(Rput)(origin, origin_count, origin_type, rank, disp, target_count,
                                   target_type, window, request)));
}

int SUFFIXED(accel_Rget)(void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                         MPI_Aint disp, COUNT target_count, MPI_Datatype target_type,
                         MPI_Win window, MPI_Request *request)
{
    return OR_HOST(
        do_transfer(SUFFIXED(CALL_Rget), false, ORIGIN, LOCATION, TARGET, window, request),
        PROBED(host.SUFFIXED(Rget)(origin, origin_count, origin_type, rank, disp, target_count,
                                   target_type, window, request)));
}

int SUFFIXED(accel_Raccumulate)(const void *origin, COUNT origin_count, MPI_Datatype origin_type,
                                int rank, MPI_Aint disp, COUNT target_count,
                                MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                                MPI_Request *request)
{
    return OR_HOST(do_accumulate(SUFFIXED(CALL_Raccumulate), ORIGIN, NULL, LOCATION, TARGET, op,
                                 window, request),
                   host.SUFFIXED(Raccumulate)(origin, origin_count, origin_type, rank, disp,
                                              target_count, target_type, op, window, request));
}

int SUFFIXED(accel_Rget_accumulate)(const void *origin, COUNT origin_count,
                                    MPI_Datatype origin_type, void *result, COUNT result_count,
                                    MPI_Datatype result_type, int rank, MPI_Aint disp,
                                    COUNT target_count, MPI_Datatype target_type, MPI_Op op,
                                    MPI_Win window, MPI_Request *request)
{
    struct data back = {result, result_count, result_type};
    return OR_HOST(do_accumulate(SUFFIXED(CALL_Rget_accumulate), ORIGIN, &back, LOCATION, TARGET,
                                 op, window, request),
                   host.SUFFIXED(Rget_accumulate)(origin, origin_count, origin_type, result,
                                                  result_count, result_type, rank, disp,
                                                  target_count, target_type, op, window, request));
}

#ifndef LARGE_COUNT
int accel_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint disp,
                       MPI_Op op, MPI_Win window)
{
    struct data back = {result, 1, type};
    return OR_HOST(do_accumulate(CALL_Fetch_and_op, (struct data){origin, 1, type}, &back, LOCATION,
                                 (struct data){NULL, 1, type}, op, window, NULL),
                   host.Fetch_and_op(origin, result, type, rank, disp, op, window));
}

int accel_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                           int rank, MPI_Aint disp, MPI_Win window)
{
    return OR_HOST(do_compare_and_swap(origin, compare, result, type, LOCATION, window),
                   host.Compare_and_swap(origin, compare, result, type, rank, disp, window));
}
#endif
