/* One-sided operations (MPI-4.0, 12.3), as put_get_accumulate.c calls them.
 *
 * Each has two implementations. The fast one covers contiguous data of any length inside an open
 * epoch; it either completes the operation or touches nothing and returns false. Its budget, except
 * for accumulates in bulk mode (rma_shm/atomic.h): no system call, no lock, no allocation, no
 * division; it touches the cache lines of the window, the peer, the datatype, the thread's
 * counters, and the data. The slow one covers everything else and finds errors.
 */
#ifndef MPIACCEL_OPERATION_H
#define MPIACCEL_OPERATION_H

#include "pmpi_wrap/abi/datatypes/reducers.h"
#include "pmpi_wrap/abi/datatypes/typemap_of.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/window.h"
#include "rma_shm/win.h"

#include <limits.h>

struct location {
    int rank;
    MPI_Aint disp;
};

/* An operation for the slow implementations. The fast ones take their arguments one by one, to keep
 * them in registers: the compiler would store all members of a structure whose address is taken. */
struct operation {
    enum call call;
    MPI_Win handle;
    struct location to;
    struct data origin, target;
    MPI_Request *request; /* of a call that makes one */
    MPI_Op op;
    struct data result;
    bool fetches;        /* it has a result */
    const void *compare; /* of MPI_Compare_and_swap */
};

/* The slow implementations return the result of the call, or DEFERRED. `win`: NULL if the window is
 * left to the host. */
int slow_transfer(struct win *win, const struct operation *o, bool put);
int slow_accumulate(struct win *win, const struct operation *o);
int slow_compare_and_swap(struct win *win, const struct operation *o);

/* ---- put and get ---- */

/* The target's address, if both sides are simple data of the same length, and win_at() finds the
 * address. Otherwise NULL. */
HOT_INLINE char *simple_target(struct win *win, struct data origin, struct location location,
                               struct data target, size_t *bytes)
{
    const struct typemap *from = typemap_of(origin.type);
    const struct typemap *to = target.type == origin.type ? from : typemap_of(target.type);
    if (UNLIKELY(!from || !to) || UNLIKELY(!(from->simple & to->simple)) ||
        UNLIKELY((uint64_t)origin.count > INT_MAX || (uint64_t)target.count > INT_MAX))
        return NULL;
    *bytes = from->size * (size_t)origin.count;
    if (UNLIKELY(*bytes != to->size * (size_t)target.count) || UNLIKELY(!origin.address))
        return NULL;
    return win_at(win, location.rank, location.disp, *bytes);
}

HOT_INLINE bool fast_put(enum call call, struct win *win, struct data origin,
                         struct location location, struct data target)
{
    size_t bytes;
    char *at = simple_target(win, origin, location, target, &bytes);
    if (UNLIKELY(!at))
        return false;
    /* No limit on the length: the C library's memcpy uses non-temporal stores for data that the
     * caches do not hold. */
    copy_bytes(at, origin.address, bytes);
    win_wrote(win);
    thread_count(thread_self(), call, bytes);
    return true;
}

HOT_INLINE bool fast_get(enum call call, struct win *win, struct data origin,
                         struct location location, struct data target)
{
    size_t bytes;
    char *at = simple_target(win, origin, location, target, &bytes);
    if (UNLIKELY(!at))
        return false;
    copy_bytes((void *)origin.address, at, bytes);
    thread_count_read(thread_self(), call, bytes, at);
    return true;
}

/* ---- the accumulate family ---- */

/* Accumulate contiguous elements of one datatype on all sides. `result.address` NULL: nothing is
 * fetched, and MPI_NO_OP is an error. */
HOT_INLINE bool fast_accumulate(enum call call, struct win *win, struct data origin,
                                struct data result, struct location location, struct data target,
                                MPI_Op handle)
{
    _Static_assert(OP_NO_OP == OP_COUNT - 1, "one comparison refuses it");
    const struct typemap *map = typemap_of(target.type);
    enum op op = op_of(handle);
    bool same = origin.count == target.count && origin.type == target.type;
    same =
        same && (!result.address || (result.count == target.count && result.type == target.type));
    if (!same || UNLIKELY((uint64_t)target.count - 1 >= INT_MAX) || UNLIKELY(!map) ||
        UNLIKELY(op >= (result.address ? OP_COUNT : OP_NO_OP)) || UNLIKELY(!map->simple) ||
        UNLIKELY(!origin.address && op != OP_NO_OP) || UNLIKELY(result.address == origin.address))
        return false;
    const struct reducer *reducer = &reducers[op][map->prim];
    if (UNLIKELY(map->element != reducer->element))
        return false;
    size_t bytes = map->size * (size_t)target.count;
    char *at = win_at(win, location.rank, location.disp, bytes);
    if (UNLIKELY(!at))
        return false;
    struct thread *thread = thread_self();
    win_combine(win, thread, reducer, (uint32_t)location.rank, at, origin.address,
                (char *)result.address, bytes);
    if (result.address)
        thread_count_read(thread, call, bytes, at);
    else
        thread_count(thread, call, bytes);
    return true;
}

/* Whether the datatype is predefined, as MPI_Fetch_and_op and MPI_Compare_and_swap require. */
HOT_INLINE bool is_predefined(MPI_Datatype type, const struct typemap *map)
{
    return map && map->base == BITS(type);
}

HOT_INLINE bool fast_compare_and_swap(struct win *win, const void *origin, const void *compare,
                                      void *result, MPI_Datatype type, struct location location)
{
    const struct typemap *map = typemap_of(type);
    if (UNLIKELY(!is_predefined(type, map)) || UNLIKELY(map->prim > PRIM_U64) ||
        UNLIKELY(!origin || !compare || !result))
        return false;
    char *at = win_at(win, location.rank, location.disp, map->size);
    if (UNLIKELY(!at))
        return false;
    struct thread *thread = thread_self();
    win_compare_and_swap(win, thread, (uint32_t)location.rank, at, origin, compare, result,
                         map->size);
    thread_count_read(thread, CALL_Compare_and_swap, map->size, at);
    return true;
}

/* ---- the calls ----
 *
 * They return the result of the call, or DEFERRED. */

/* The end of an operation that is complete. `request`: NULL for calls that make none. */
HOT_INLINE int end_operation(MPI_Request *request)
{
    return request ? complete_request(request) : MPI_SUCCESS;
}

/* Put or get. `request`: NULL for calls that make none. */
HOT_INLINE int do_transfer(enum call call, bool put, struct data origin, struct location to,
                           struct data target, MPI_Win window, MPI_Request *request)
{
    struct win *win = fast_window(window);
    if (LIKELY(win && (put ? fast_put(call, win, origin, to, target)
                           : fast_get(call, win, origin, to, target))))
        return end_operation(request);
    struct operation o = {call, window, to, origin, target, .request = request};
    return slow_transfer(win, &o, put);
}

/* Accumulate. `result`: NULL for calls that fetch nothing. */
HOT_INLINE int do_accumulate(enum call call, struct data origin, const struct data *result,
                             struct location to, struct data target, MPI_Op op, MPI_Win window,
                             MPI_Request *request)
{
    struct data back = result ? *result : (struct data){0};
    bool fetches = result, single = call == CALL_Fetch_and_op;
    struct win *win = fast_window(window);
    if (LIKELY(win && (!fetches || back.address) &&
               (!single || is_predefined(target.type, typemap_of(target.type))) &&
               fast_accumulate(call, win, origin, back, to, target, op)))
        return end_operation(request);
    struct operation o = {call, window, to, origin, target, request, op, back, fetches, NULL};
    return slow_accumulate(win, &o);
}

HOT_INLINE int do_compare_and_swap(const void *origin, const void *compare, void *result,
                                   MPI_Datatype type, struct location to, MPI_Win window)
{
    struct data from = {origin, 1, type}, target = {NULL, 1, type}, back = {result, 1, type};
    struct win *win = fast_window(window);
    if (LIKELY(win && fast_compare_and_swap(win, origin, compare, result, type, to)))
        return MPI_SUCCESS;
    struct operation o = {
        CALL_Compare_and_swap, window, to, from, target, .result = back, .fetches = true,
        .compare = compare};
    return slow_compare_and_swap(win, &o);
}

#endif
