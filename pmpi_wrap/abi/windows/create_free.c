/* MPI_Win_create, MPI_Win_allocate, MPI_Win_allocate_shared, MPI_Win_create_dynamic and
 * MPI_Win_free (MPI-4.0, 12.2). */
#include "pmpi_wrap/abi/count.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/window_setup.h"

int SUFFIXED(accel_Win_create)(void *base, MPI_Aint size, DISPLACEMENT unit, MPI_Info info,
                               MPI_Comm comm, MPI_Win *win)
{
    struct window_request r = {
        SUFFIXED(CALL_Win_create), MPI_WIN_FLAVOR_CREATE, base, size, unit, info, comm, win, 0};
    int result;
    enum reason reason = window_create(&r, NULL, &result);
    if (reason == REASON_NONE)
        return result;
    struct spanning_window *spanning = spanning_window_prepare(&r, reason);
    result = host.SUFFIXED(Win_create)(base, size, unit, info, comm, win);
    spanning_window_open(spanning, win, result);
    return window_deferred(&r, result, reason);
}

int SUFFIXED(accel_Win_allocate)(MPI_Aint size, DISPLACEMENT unit, MPI_Info info, MPI_Comm comm,
                                 void *baseptr, MPI_Win *win)
{
    struct window_request r = {
        SUFFIXED(CALL_Win_allocate), MPI_WIN_FLAVOR_ALLOCATE, NULL, size, unit, info, comm, win, 0};
    int result;
    enum reason reason = window_create(&r, baseptr, &result);
    if (reason == REASON_NONE)
        return result;
    struct spanning_window *spanning = spanning_window_allocate(&r, reason);
    if (spanning)
        result = host.SUFFIXED(Win_create)(spanning->memory, size, unit, info, comm, win);
    else
        result = host.SUFFIXED(Win_allocate)(size, unit, info, comm, baseptr, win);
    if (spanning && result == MPI_SUCCESS)
        *(void **)baseptr = spanning->memory;
    spanning_window_open(spanning, win, result);
    return window_deferred(&r, result, reason);
}

int SUFFIXED(accel_Win_allocate_shared)(MPI_Aint size, DISPLACEMENT unit, MPI_Info info,
                                        MPI_Comm comm, void *baseptr, MPI_Win *win)
{
    struct window_request r = {SUFFIXED(CALL_Win_allocate_shared),
                               MPI_WIN_FLAVOR_SHARED,
                               NULL,
                               size,
                               unit,
                               info,
                               comm,
                               win,
                               0};
    int result;
    enum reason reason = window_create(&r, baseptr, &result);
    if (reason == REASON_NONE)
        return result;
    result = host.SUFFIXED(Win_allocate_shared)(size, unit, info, comm, baseptr, win);
    return window_deferred(&r, result, reason);
}

#ifndef LARGE_COUNT
int accel_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    struct window_request r = {
        CALL_Win_create_dynamic, MPI_WIN_FLAVOR_DYNAMIC, NULL, 0, 1, info, comm, win, 0};
    int result;
    enum reason reason = window_create(&r, NULL, &result);
    if (reason == REASON_NONE)
        return result;
    result = host.Win_create_dynamic(info, comm, win);
    return window_deferred(&r, result, reason);
}

int accel_Win_free(MPI_Win *win)
{
    return window_free(win);
}
#endif
