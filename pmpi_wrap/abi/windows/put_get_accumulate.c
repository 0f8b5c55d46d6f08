/* The one-sided operations (MPI-4.0, 12.3): MPI_Put, MPI_Get, MPI_Accumulate, MPI_Get_accumulate,
 * their request-based variants, MPI_Fetch_and_op and MPI_Compare_and_swap.
 *
 * Each tries the fast implementation of operation.h, then the slow one; on a window that is not
 * fast it calls the host.
 */
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/operation.h"

int SUFFIXED(accel_Put)(const void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, COUNT target_count, MPI_Datatype target_type, MPI_Win window)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_put(SUFFIXED(CALL_Put), win, from, (struct location){rank, disp}, to)))
        return MPI_SUCCESS;
    struct operation o = {.call = SUFFIXED(CALL_Put),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .handle = window};
    if (win)
        return slow_put(win, &o);
    return needs_host(&o) ? host.SUFFIXED(Put)(origin, origin_count, origin_type, rank, disp,
                                               target_count, target_type, window)
                          : complete_operation(&o, 0);
}

int SUFFIXED(accel_Get)(void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                        MPI_Aint disp, COUNT target_count, MPI_Datatype target_type, MPI_Win window)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_get(SUFFIXED(CALL_Get), win, from, (struct location){rank, disp}, to)))
        return MPI_SUCCESS;
    struct operation o = {.call = SUFFIXED(CALL_Get),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .handle = window};
    if (win)
        return slow_get(win, &o);
    return needs_host(&o) ? host.SUFFIXED(Get)(origin, origin_count, origin_type, rank, disp,
                                               target_count, target_type, window)
                          : complete_operation(&o, 0);
}

int SUFFIXED(accel_Accumulate)(const void *origin, COUNT origin_count, MPI_Datatype origin_type,
                               int rank, MPI_Aint disp, COUNT target_count,
                               MPI_Datatype target_type, MPI_Op op, MPI_Win window)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type},
                back = {0};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_accumulate(SUFFIXED(CALL_Accumulate), win, from, back,
                                      (struct location){rank, disp}, to, op)))
        return MPI_SUCCESS;
    struct operation o = {.call = SUFFIXED(CALL_Accumulate),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .op = op,
                          .handle = window};
    if (win)
        return slow_accumulate(win, &o);
    return needs_host(&o) ? host.SUFFIXED(Accumulate)(origin, origin_count, origin_type, rank, disp,
                                                      target_count, target_type, op, window)
                          : complete_operation(&o, 0);
}

int SUFFIXED(accel_Get_accumulate)(const void *origin, COUNT origin_count, MPI_Datatype origin_type,
                                   void *result, COUNT result_count, MPI_Datatype result_type,
                                   int rank, MPI_Aint disp, COUNT target_count,
                                   MPI_Datatype target_type, MPI_Op op, MPI_Win window)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type},
                back = {result, result_count, result_type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_get_accumulate(SUFFIXED(CALL_Get_accumulate), win, from, back,
                                          (struct location){rank, disp}, to, op)))
        return MPI_SUCCESS;
    struct operation o = {.call = SUFFIXED(CALL_Get_accumulate),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .result = back,
                          .fetches = true,
                          .op = op,
                          .handle = window};
    if (win)
        return slow_accumulate(win, &o);
    return needs_host(&o) ? host.SUFFIXED(Get_accumulate)(origin, origin_count, origin_type, result,
                                                          result_count, result_type, rank, disp,
                                                          target_count, target_type, op, window)
                          : complete_operation(&o, 0);
}

int SUFFIXED(accel_Rput)(const void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                         MPI_Aint disp, COUNT target_count, MPI_Datatype target_type,
                         MPI_Win window, MPI_Request *request)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_put(SUFFIXED(CALL_Rput), win, from, (struct location){rank, disp}, to)))
        return complete_request(request);
    struct operation o = {.call = SUFFIXED(CALL_Rput),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .handle = window,
                          .request = request};
    if (win)
        return slow_put(win, &o);
    return needs_host(&o) ? host.SUFFIXED(Rput)(origin, origin_count, origin_type, rank, disp,
                                                target_count, target_type, window, request)
                          : complete_operation(&o, 0);
}

int SUFFIXED(accel_Rget)(void *origin, COUNT origin_count, MPI_Datatype origin_type, int rank,
                         MPI_Aint disp, COUNT target_count, MPI_Datatype target_type,
                         MPI_Win window, MPI_Request *request)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_get(SUFFIXED(CALL_Rget), win, from, (struct location){rank, disp}, to)))
        return complete_request(request);
    struct operation o = {.call = SUFFIXED(CALL_Rget),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .handle = window,
                          .request = request};
    if (win)
        return slow_get(win, &o);
    return needs_host(&o) ? host.SUFFIXED(Rget)(origin, origin_count, origin_type, rank, disp,
                                                target_count, target_type, window, request)
                          : complete_operation(&o, 0);
}

int SUFFIXED(accel_Raccumulate)(const void *origin, COUNT origin_count, MPI_Datatype origin_type,
                                int rank, MPI_Aint disp, COUNT target_count,
                                MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                                MPI_Request *request)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type},
                back = {0};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_accumulate(SUFFIXED(CALL_Raccumulate), win, from, back,
                                      (struct location){rank, disp}, to, op)))
        return complete_request(request);
    struct operation o = {.call = SUFFIXED(CALL_Raccumulate),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .op = op,
                          .handle = window,
                          .request = request};
    if (win)
        return slow_accumulate(win, &o);
    return needs_host(&o)
               ? host.SUFFIXED(Raccumulate)(origin, origin_count, origin_type, rank, disp,
                                            target_count, target_type, op, window, request)
               : complete_operation(&o, 0);
}

int SUFFIXED(accel_Rget_accumulate)(const void *origin, COUNT origin_count,
                                    MPI_Datatype origin_type, void *result, COUNT result_count,
                                    MPI_Datatype result_type, int rank, MPI_Aint disp,
                                    COUNT target_count, MPI_Datatype target_type, MPI_Op op,
                                    MPI_Win window, MPI_Request *request)
{
    struct side from = {origin, origin_count, origin_type}, to = {NULL, target_count, target_type},
                back = {result, result_count, result_type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_get_accumulate(SUFFIXED(CALL_Rget_accumulate), win, from, back,
                                          (struct location){rank, disp}, to, op)))
        return complete_request(request);
    struct operation o = {.call = SUFFIXED(CALL_Rget_accumulate),
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .result = back,
                          .fetches = true,
                          .op = op,
                          .handle = window,
                          .request = request};
    if (win)
        return slow_accumulate(win, &o);
    return needs_host(&o)
               ? host.SUFFIXED(Rget_accumulate)(origin, origin_count, origin_type, result,
                                                result_count, result_type, rank, disp, target_count,
                                                target_type, op, window, request)
               : complete_operation(&o, 0);
}

#ifndef LARGE_COUNT
int accel_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint disp,
                       MPI_Op op, MPI_Win window)
{
    struct side from = {origin, 1, type}, back = {result, 1, type}, to = {NULL, 1, type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_fetch_and_op(win, from, back, (struct location){rank, disp}, op)))
        return MPI_SUCCESS;
    struct operation o = {.call = CALL_Fetch_and_op,
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .target = to,
                          .result = back,
                          .fetches = true,
                          .op = op,
                          .handle = window};
    if (win)
        return slow_accumulate(win, &o);
    return needs_host(&o) ? host.Fetch_and_op(origin, result, type, rank, disp, op, window)
                          : complete_operation(&o, 0);
}

int accel_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                           int rank, MPI_Aint disp, MPI_Win window)
{
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_compare_and_swap(win, origin, compare, result, type,
                                            (struct location){rank, disp})))
        return MPI_SUCCESS;
    struct operation o = {.call = CALL_Compare_and_swap,
                          .rank = rank,
                          .disp = disp,
                          .origin = {origin, 1, type},
                          .target = {NULL, 1, type},
                          .result = {result, 1, type},
                          .compare = compare,
                          .fetches = true,
                          .handle = window};
    if (win)
        return slow_compare_and_swap(win, &o);
    return needs_host(&o) ? host.Compare_and_swap(origin, compare, result, type, rank, disp, window)
                          : complete_operation(&o, 0);
}
#endif
