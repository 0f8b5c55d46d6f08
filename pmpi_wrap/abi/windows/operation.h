/* One-sided operations (MPI-4.0, 12.3), as put_get_accumulate.c calls them.
 *
 * Each has two implementations. The fast one covers contiguous data of any length inside an open
 * epoch; it either completes the operation or touches nothing and returns false. Its budget: no
 * system call, no lock, no allocation, no division; it touches the cache lines of the window, the
 * peer, the datatype, the thread's counters, and the data. The slow one covers everything else and
 * finds errors.
 */
#ifndef MPIACCEL_OPERATION_H
#define MPIACCEL_OPERATION_H

#include "pmpi_wrap/abi/datatypes/typemap_of.h"
#include "pmpi_wrap/abi/windows/window.h"
#include "rma_shm/atomic.h"
#include "rma_shm/win.h"

#include <limits.h>

/* One side of an operation, in MPI's terms. */
struct side {
    const void *address; /* NULL for the target's side */
    MPI_Count count;
    MPI_Datatype type;
};

struct location {
    int rank;
    MPI_Aint disp;
};

/* An operation for the slow implementations. The fast ones take their arguments one by one, to keep
 * them in registers: the compiler would store all members of a structure whose address is taken. */
struct operation {
    enum call call;
    int rank;
    MPI_Aint disp;
    struct side origin, target, result;
    const void *compare; /* of MPI_Compare_and_swap */
    bool fetches;        /* it has a result */
    MPI_Op op;
    MPI_Win handle;
    MPI_Request *request; /* NULL: the call has none */
};

/* ---- windows that are left to the host ---- */

/* True: the host has to do the operation, and it has been counted. False: it moves no data, and
 * needs no host. */
bool needs_host(const struct operation *o);

/* Count the operation, and make its request. Returns the call's result. */
int complete_operation(const struct operation *o, size_t bytes);

/* ---- the slow implementations ---- */

int slow_put(struct win *win, const struct operation *o);
int slow_get(struct win *win, const struct operation *o);
int slow_accumulate(struct win *win, const struct operation *o);
int slow_compare_and_swap(struct win *win, const struct operation *o);

/* ---- put and get ---- */

/* The target's address, if both sides are simple data of the same length. NULL: they are not. */
HOT_INLINE char *simple_target(struct win *win, struct side origin, struct location location,
                               struct side target, size_t *bytes)
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

HOT_INLINE bool fast_put(enum call call, struct win *win, struct side origin,
                         struct location location, struct side target)
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

HOT_INLINE bool fast_get(enum call call, struct win *win, struct side origin,
                         struct location location, struct side target)
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

/* By operation and prim; an element of 0 bytes where this library has no arithmetic. */
extern struct reduction_function reduction_functions[OP_COUNT][PRIM_COUNT] HIDDEN;

/* Choose the reduction kernels for this processor, also for collectives; in MPI_Init. */
void reduction_functions_open(void);

/* For contiguous elements of one datatype on all sides. `result.address` NULL: nothing is fetched,
 * and MPI_NO_OP is an error. */
HOT_INLINE bool fast_accumulate(enum call call, struct win *win, struct side origin,
                                struct side result, struct location location, struct side target,
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
    const struct reduction_function *function = &reduction_functions[op][map->prim];
    if (UNLIKELY(map->element != function->element))
        return false;
    size_t bytes = map->size * (size_t)target.count;
    char *at = win_at(win, location.rank, location.disp, bytes);
    if (UNLIKELY(!at))
        return false;
    struct thread *thread = thread_self();
    win_combine(win, thread, function, (uint32_t)location.rank, at, origin.address,
                (char *)result.address, bytes);
    if (result.address)
        thread_count_read(thread, call, bytes, at);
    else
        thread_count(thread, call, bytes);
    return true;
}

/* The same for calls with a result buffer, which must not be NULL. */
HOT_INLINE bool fast_get_accumulate(enum call call, struct win *win, struct side origin,
                                    struct side result, struct location location,
                                    struct side target, MPI_Op handle)
{
    return LIKELY(result.address != NULL) &&
           fast_accumulate(call, win, origin, result, location, target, handle);
}

/* For MPI_Fetch_and_op and MPI_Compare_and_swap, whose datatype must be predefined. */
HOT_INLINE bool is_predefined(MPI_Datatype type, const struct typemap *map)
{
    return map && map->base == BITS(type);
}

HOT_INLINE bool fast_fetch_and_op(struct win *win, struct side origin, struct side result,
                                  struct location location, MPI_Op handle)
{
    struct side target = {NULL, 1, origin.type};
    return LIKELY(is_predefined(origin.type, typemap_of(origin.type))) &&
           fast_get_accumulate(CALL_Fetch_and_op, win, origin, result, location, target, handle);
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

#endif
