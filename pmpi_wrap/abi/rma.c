/* The operations (MPI-4.0, 12.3): translate, ask, do or defer.
 *
 * Each starts with the case that matters, small and contiguous data in an open epoch, and ends in
 * one call of the slow one, which finds out what is wrong or different. Budget of the fast case: no
 * system call, no lock, no allocation, no division; lines touched: the window, the peer, the
 * datatype, the thread's counters, and the data.
 */
#include "pmpi_wrap/abi/rma.h"

#include "pmpi_wrap/abi/abi.h"
#include "rma_shm/atomic.h"
#include "rma_shm/epoch.h"

#include <limits.h>

/* One side of an operation, in the host's terms. */
struct side {
    const void *at;
    MPI_Count count;
    MPI_Datatype type;
};

/* The other one. */
struct place {
    int rank;
    MPI_Aint disp;
};

/* What sort of call it is, beyond the operation. */
struct form {
    enum call call;
    MPI_Request *request; /* NULL: not of the request-based kind */
};

/* ---- judging arguments ---- */

/* MPI_SUCCESS, or the class of what is wrong with a buffer; the typemap if it is right. */
static int judge(struct side side, const struct typemap **map)
{
    *map = typemap_of(side.type);
    if (side.count < 0)
        return MPI_ERR_COUNT;
    if (!*map)
        return MPI_ERR_TYPE;
    return MPI_SUCCESS;
}

static int judge_origin(struct side side, const struct typemap **map)
{
    int wrong = judge(side, map);
    if (wrong)
        return wrong;
    return !side.at && (*map)->simple && (*map)->size && side.count ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

/* The common end of all operations: report, or count and make the request. */
static int finish(struct form form, struct win *win, MPI_Win handle, enum win_error error,
                  size_t bytes)
{
    (void)win;
    if (UNLIKELY(error))
        return report(handle, error);
    thread_count(thread_self(), form.call, bytes);
    return form.request ? complete_request(form.request) : MPI_SUCCESS;
}

/* Request-based operations belong into passive epochs (MPI-4.0, 12.3.5). */
static bool wrong_epoch(struct form form, struct win *win, int target)
{
    return form.request && (uint32_t)target < win->size && !win_passive(win, (uint32_t)target);
}

/* ---- put and get ---- */

static COLD int slow_transfer(struct form form, struct win *win, MPI_Win handle, bool put,
                              struct side origin, struct place place, struct side there)
{
    const struct typemap *origin_map, *map;
    int wrong = judge_origin(origin, &origin_map);
    if (!wrong)
        wrong = judge(there, &map);
    if (wrong)
        return report_class(handle, wrong);
    struct buffer from = {(char *)origin.at, origin_map, (size_t)origin.count};
    struct buffer to = {NULL, map, (size_t)there.count};
    enum win_error error = WIN_OK;
    size_t bytes = 0;
    if (place.rank != MPI_PROC_NULL) {
        buffer_bytes(put ? from : to, &bytes);
        error = wrong_epoch(form, win, place.rank) ? WIN_ERR_SYNC
                : put                              ? win_put(win, from, place.rank, place.disp, to)
                                                   : win_get(win, from, place.rank, place.disp, to);
    }
    return finish(form, win, handle, error, bytes);
}

/* Both sides simple and equally long: their length, the target's address, and true. */
HOT_INLINE bool simple_transfer(struct win *win, struct side origin, struct place place,
                                struct side there, size_t *bytes, char **at)
{
    const struct typemap *origin_map = typemap_of(origin.type);
    const struct typemap *map = there.type == origin.type ? origin_map : typemap_of(there.type);
    if (UNLIKELY(!origin_map || !map) || UNLIKELY(!(origin_map->simple & map->simple)) ||
        UNLIKELY((uint64_t)origin.count > INT_MAX || (uint64_t)there.count > INT_MAX))
        return false;
    *bytes = origin_map->size * (size_t)origin.count;
    if (UNLIKELY(*bytes != map->size * (size_t)there.count) || UNLIKELY(!origin.at))
        return false;
    *at = win_at(win, place.rank, place.disp, *bytes);
    return LIKELY(*at != NULL);
}

HOT_INLINE int put(struct form form, struct win *win, MPI_Win handle, struct side origin,
                   struct place place, struct side there)
{
    size_t bytes;
    char *at;
    if (UNLIKELY(wrong_epoch(form, win, place.rank)) ||
        UNLIKELY(!simple_transfer(win, origin, place, there, &bytes, &at)))
        return slow_transfer(form, win, handle, true, origin, place, there);
    copy_bytes(at, origin.at, bytes);
    win_wrote(win);
    return finish(form, win, handle, WIN_OK, bytes);
}

HOT_INLINE int get(struct form form, struct win *win, MPI_Win handle, struct side origin,
                   struct place place, struct side there)
{
    size_t bytes;
    char *at;
    if (UNLIKELY(wrong_epoch(form, win, place.rank)) ||
        UNLIKELY(!simple_transfer(win, origin, place, there, &bytes, &at)))
        return slow_transfer(form, win, handle, false, origin, place, there);
    copy_bytes((void *)origin.at, at, bytes);
    return finish(form, win, handle, WIN_OK, bytes);
}

/* ---- the accumulate family ---- */

/* By operation and prim; an element of 0 bytes where we have no arithmetic. */
static struct combiner combiners[OP_COUNT][PRIM_COUNT];

void combiners_open(void)
{
    static const uint32_t element[PRIM_COUNT] = {
#define X(name, type) [PRIM_##name] = sizeof(type),
        PRIMS(X)
#undef X
    };
    const struct kernels *kernels = kernels_best();
    for (int op = 0; op < OP_COUNT; op++)
        for (int prim = 0; prim < PRIM_COUNT; prim++) {
            combine_fn *kernel = kernels->combine[op][prim];
            bool ours = kernel || op == OP_REPLACE || op == OP_NO_OP;
            combiners[op][prim] = (struct combiner){.op = (enum op)op,
                                                    .integer = prim <= PRIM_U64,
                                                    .element = ours ? element[prim] : 0,
                                                    .kernel = kernel};
        }
}
_Static_assert(PRIM_I8 == 0 && PRIM_U64 == 7, "the integers come first");

static void combine_by_host(const struct combiner *c, void *inout, const void *in, size_t n)
{
    for (; n; n -= n < INT_MAX ? n : INT_MAX) {
        size_t part = n < INT_MAX ? n : INT_MAX;
        host.Reduce_local(in, inout, (int)part, HANDLE_OF(MPI_Datatype, c->host_type),
                          HANDLE_OF(MPI_Op, c->host_op));
        in = (const char *)in + part * c->element;
        inout = (char *)inout + part * c->element;
    }
}

/* How to combine elements of this datatype. False: MPI does not define it, nor does the host. */
static bool find_combiner(MPI_Op op, const struct typemap *element, struct combiner *combiner)
{
    enum op known = op_of(op);
    if (known == OP_COUNT)
        return false;
    *combiner = combiners[known][element->prim];
    if (combiner->element)
        return true;
    combiner->element = element->element;
    if (known == OP_REPLACE || known == OP_NO_OP)
        return true;
    combiner->host = combine_by_host;
    combiner->host_type = element->base;
    combiner->host_op = BITS(op);
    return element->base && host_combines(HANDLE_OF(MPI_Datatype, element->base), op);
}

/* `result` of type MPI_DATATYPE_NULL's kind, that is with a NULL typemap: an accumulate. */
static COLD int slow_accumulate(struct form form, struct win *win, MPI_Win handle,
                                struct side origin, const struct side *result, struct place place,
                                struct side there, MPI_Op op)
{
    const struct typemap *origin_map = NULL, *result_map = NULL, *map = NULL;
    bool fetches_only = op_of(op) == OP_NO_OP;
    int wrong = judge(there, &map);
    if (!wrong && !fetches_only)
        wrong = judge_origin(origin, &origin_map);
    if (!wrong && result)
        wrong = judge_origin(*result, &result_map);
    if (wrong)
        return report_class(handle, wrong);
    const struct typemap *element = predefined_for(map);
    struct combiner combiner;
    if (!find_combiner(op, element, &combiner))
        return report_class(handle, MPI_ERR_OP);
    if (place.rank == MPI_PROC_NULL)
        return finish(form, win, handle, WIN_OK, 0);
    struct buffer from = {(char *)origin.at, origin_map, (size_t)origin.count};
    struct buffer back = {0};
    if (result)
        back = (struct buffer){(char *)result->at, result_map, (size_t)result->count};
    struct buffer to = {NULL, map, (size_t)there.count};
    size_t bytes = 0;
    buffer_bytes(to, &bytes);
    enum win_error error =
        wrong_epoch(form, win, place.rank)
            ? WIN_ERR_SYNC
            : win_accumulate(win, &combiner, element, from, back, place.rank, place.disp, to);
    return finish(form, win, handle, error, bytes);
}

/* One element of a prim that we have arithmetic for, in the target's open window: its combiner and
 * address, and true. */
HOT_INLINE bool simple_element(struct win *win, MPI_Datatype type, MPI_Op op, struct place place,
                               const struct combiner **combiner, char **at)
{
    const struct typemap *map = typemap_of(type);
    enum op known = op_of(op);
    if (UNLIKELY(!map) || UNLIKELY(known == OP_COUNT) || UNLIKELY(!map->simple))
        return false;
    *combiner = &combiners[known][map->prim];
    if (UNLIKELY(map->size != (*combiner)->element))
        return false;
    *at = win_at(win, place.rank, place.disp, map->size);
    return LIKELY(*at != NULL);
}

HOT_INLINE int accumulate(struct form form, struct win *win, MPI_Win handle, struct side origin,
                          const struct side *result, struct place place, struct side there,
                          MPI_Op op)
{
    const struct combiner *combiner;
    char *at;
    bool one = origin.count == 1 && there.count == 1 && origin.type == there.type && origin.at &&
               (!result || (result->count == 1 && result->type == there.type && result->at));
    if (!one || UNLIKELY(wrong_epoch(form, win, place.rank)) ||
        UNLIKELY(!simple_element(win, there.type, op, place, &combiner, &at)))
        return slow_accumulate(form, win, handle, origin, result, place, there, op);
    win_fetch_and_op(win, combiner, (uint32_t)place.rank, at, origin.at,
                     result ? (void *)result->at : NULL);
    return finish(form, win, handle, WIN_OK, combiner->element);
}

static COLD int slow_fetch_and_op(struct win *win, MPI_Win handle, const void *origin, void *result,
                                  MPI_Datatype type, struct place place, MPI_Op op)
{
    struct side from = {origin, 1, type}, back = {result, 1, type}, there = {NULL, 1, type};
    return slow_accumulate((struct form){CALL_Fetch_and_op, NULL}, win, handle, from, &back, place,
                           there, op);
}

int accel_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint disp,
                       MPI_Op op, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win)) {
        deferred_on(CALL_Fetch_and_op, handle);
        return host.Fetch_and_op(origin, result, type, rank, disp, op, handle);
    }
    struct place place = {rank, disp};
    const struct combiner *combiner;
    char *at;
    if (UNLIKELY(!simple_element(win, type, op, place, &combiner, &at)) || UNLIKELY(!result) ||
        UNLIKELY(!origin && combiner->op != OP_NO_OP))
        return slow_fetch_and_op(win, handle, origin, result, type, place, op);
    win_fetch_and_op(win, combiner, (uint32_t)rank, at, origin, result);
    thread_count(thread_self(), CALL_Fetch_and_op, combiner->element);
    return MPI_SUCCESS;
}

static COLD int slow_compare_and_swap(struct win *win, MPI_Win handle, const void *origin,
                                      const void *compare, void *result, MPI_Datatype type,
                                      struct place place)
{
    const struct typemap *map;
    struct side one = {result, 1, type};
    int wrong = judge_origin(one, &map);
    if (!wrong && (!origin || !compare))
        wrong = MPI_ERR_BUFFER;
    if (!wrong && !map->simple)
        wrong = MPI_ERR_TYPE;
    if (wrong)
        return report_class(handle, wrong);
    enum win_error error = WIN_OK;
    char *at;
    if (place.rank != MPI_PROC_NULL) {
        error = win_locate(win, place.rank, place.disp, 0, (ptrdiff_t)map->size, &at);
        if (!error)
            win_compare_and_swap(win, (uint32_t)place.rank, at, origin, compare, result, map->size);
    }
    return finish((struct form){CALL_Compare_and_swap, NULL}, win, handle, error, map->size);
}

int accel_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                           int rank, MPI_Aint disp, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win)) {
        deferred_on(CALL_Compare_and_swap, handle);
        return host.Compare_and_swap(origin, compare, result, type, rank, disp, handle);
    }
    struct place place = {rank, disp};
    const struct typemap *map = typemap_of(type);
    char *at;
    if (UNLIKELY(!map) || UNLIKELY(!map->simple) || UNLIKELY(!origin || !compare || !result) ||
        UNLIKELY(!(at = win_at(win, rank, disp, map->size))))
        return slow_compare_and_swap(win, handle, origin, compare, result, type, place);
    win_compare_and_swap(win, (uint32_t)rank, at, origin, compare, result, map->size);
    thread_count(thread_self(), CALL_Compare_and_swap, map->size);
    return MPI_SUCCESS;
}

/* ---- the calls with counts: each for int, and for MPI_Count where the host has it ---- */

#define DEFER(name, ...)                    \
    do {                                    \
        deferred_on(NUMBER(name), handle);  \
        return FUNCTION(name)(__VA_ARGS__); \
    } while (0)

#define COUNT          int
#define HANDLER(name)  accel_##name
#define NUMBER(name)   CALL_##name
#define FUNCTION(name) host.name
#include "pmpi_wrap/abi/operations.def"
#undef COUNT
#undef HANDLER
#undef NUMBER
#undef FUNCTION

#if MPI_VERSION >= 4
#define COUNT          MPI_Count
#define HANDLER(name)  accel_##name##_c
#define NUMBER(name)   CALL_##name##_c
#define FUNCTION(name) host.name##_c
#include "pmpi_wrap/abi/operations.def"
#endif
