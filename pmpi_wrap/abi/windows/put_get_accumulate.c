/* The operations (MPI-4.0, 12.3): translate, ask, do or defer.
 *
 * Each starts with the case that matters, small and contiguous data in an open epoch, and ends in
 * one call of the slow one, which finds out what is wrong or different. Budget of the fast case: no
 * system call, no lock, no allocation, no division; lines touched: the window, the peer, the
 * datatype, the thread's counters, and the data.
 */
#include "pmpi_wrap/abi/windows/put_get_accumulate.h"

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

/* What the program asked for, as the slow cases want it. The fast ones keep their arguments in
 * registers: one call by reference, and the compiler would put all of it into memory first. */
struct operation {
    enum call call;
    int rank;
    MPI_Aint disp;
    struct side origin, there, result;
    bool fetches; /* it has a result */
    MPI_Op op;
    MPI_Win handle;
    MPI_Request *request; /* NULL: not of the request-based kind */
};

/* ---- judging ---- */

/* MPI_SUCCESS, or the class of what is wrong with a buffer; the typemap if it is right. */
static int judge(struct side side, const struct typemap **map)
{
    *map = typemap_of(side.type);
    if (side.count < 0)
        return MPI_ERR_COUNT;
    return *map ? MPI_SUCCESS : MPI_ERR_TYPE;
}

/* The same for a buffer of this rank's. */
static int judge_own(struct side side, const struct typemap **map)
{
    int wrong = judge(side, map);
    if (!wrong && !side.at && side.count && (*map)->simple && (*map)->size)
        return MPI_ERR_BUFFER;
    return wrong;
}

/* The common end: count, and make the request. */
static int done(const struct operation *o, size_t bytes)
{
    thread_count(thread_self(), o->call, bytes);
    return o->request ? complete_request(o->request) : MPI_SUCCESS;
}

/* ---- windows of the host's ---- */

/* A side without data. False also for what only the host can judge. */
static bool is_empty(struct side side)
{
    int size;
    return side.count == 0 || (side.count > 0 && side.type != constants.datatype_null &&
                               host.Type_size(side.type, &size) == MPI_SUCCESS && size == 0);
}

static bool is_plausible(struct side side)
{
    return side.count >= 0 && side.type != constants.datatype_null;
}

/* An operation that moves nothing, or moves it to nobody, needs no host either; and some hosts fail
 * at it. */
static bool is_nothing(const struct operation *o)
{
    struct entry *e = registry_find(&windows, BITS(o->handle));
    if (!e || !is_plausible(o->origin) || !is_plausible(o->there))
        return false;
    if (o->rank == MPI_PROC_NULL)
        return true;
    return o->rank >= 0 && (uint32_t)o->rank < window_unpack(e->detail).ranks &&
           is_empty(o->there) && is_empty(o->origin);
}

/* False: it is done. */
static COLD bool host_must(const struct operation *o)
{
    if (is_nothing(o))
        return false;
    deferred_on(o->call, o->handle);
    return true;
}

/* ---- put and get ---- */

static NOINLINE int slow_transfer(struct win *win, const struct operation *o, bool put)
{
    const struct typemap *origin, *there;
    int wrong = judge_own(o->origin, &origin);
    if (!wrong)
        wrong = judge(o->there, &there);
    if (wrong)
        return report_class(o->handle, wrong);
    if (o->rank == MPI_PROC_NULL)
        return done(o, 0);
    struct buffer here = {(char *)o->origin.at, origin, (size_t)o->origin.count};
    struct buffer far = {NULL, there, (size_t)o->there.count};
    enum win_error error =
        put ? win_put(win, here, o->rank, o->disp, far) : win_get(win, here, o->rank, o->disp, far);
    if (error)
        return report(o->handle, error);
    size_t bytes = 0;
    buffer_bytes(put ? here : far, &bytes);
    return done(o, bytes);
}

static NOINLINE int slow_put(struct win *win, const struct operation *o)
{
    return slow_transfer(win, o, true);
}

static NOINLINE int slow_get(struct win *win, const struct operation *o)
{
    return slow_transfer(win, o, false);
}

/* The address of simple data at the target, both sides equally long; NULL: not that simple. */
HOT_INLINE char *simple_target(struct win *win, struct side origin, struct place place,
                               struct side there, size_t *bytes)
{
    const struct typemap *from = typemap_of(origin.type);
    const struct typemap *to = there.type == origin.type ? from : typemap_of(there.type);
    if (UNLIKELY(!from || !to) || UNLIKELY(!(from->simple & to->simple)) ||
        UNLIKELY((uint64_t)origin.count > INT_MAX || (uint64_t)there.count > INT_MAX))
        return NULL;
    *bytes = from->size * (size_t)origin.count;
    if (UNLIKELY(*bytes != to->size * (size_t)there.count) || UNLIKELY(!origin.at))
        return NULL;
    return win_at(win, place.rank, place.disp, *bytes);
}

/* The fast cases: done, or false and nothing was touched. */
HOT_INLINE bool put(enum call call, struct win *win, struct side origin, struct place place,
                    struct side there)
{
    size_t bytes;
    char *at = simple_target(win, origin, place, there, &bytes);
    if (UNLIKELY(!at))
        return false;
    /* Of any length: for data that the caches do not hold, the C library uses non-temporal stores.
     */
    copy_bytes(at, origin.at, bytes);
    win_wrote(win);
    thread_count(thread_self(), call, bytes);
    return true;
}

HOT_INLINE bool get(enum call call, struct win *win, struct side origin, struct place place,
                    struct side there)
{
    size_t bytes;
    char *at = simple_target(win, origin, place, there, &bytes);
    if (UNLIKELY(!at))
        return false;
    copy_bytes((void *)origin.at, at, bytes);
    thread_count(thread_self(), call, bytes);
    return true;
}

/* ---- the accumulate family ---- */

/* By operation and prim; an element of 0 bytes where we have no arithmetic. */
static struct reduction_function reduction_functions[OP_COUNT][PRIM_COUNT];

void reduction_functions_open(void)
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
            reduction_functions[op][prim] = reduction_function_of((enum op)op, (enum prim)prim,
                                                                  ours ? element[prim] : 0, kernel);
        }
}

static void reduce_by_host(const struct reduction_function *c, void *inout, const void *in,
                           size_t n)
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
static bool find_reduction_function(MPI_Op op, const struct typemap *element,
                                    struct reduction_function *function)
{
    enum op known = op_of(op);
    if (known == OP_COUNT)
        return false;
    if (!element->size) { /* of no prim; nothing will be combined */
        *function = (struct reduction_function){.op = known == OP_NO_OP ? OP_NO_OP : OP_REPLACE,
                                                .element = 1};
        return true;
    }
    *function = reduction_functions[known][element->prim];
    if (function->element)
        return true;
    *function = reduction_function_of(known, element->prim, element->element, NULL);
    if (known == OP_REPLACE || known == OP_NO_OP)
        return true;
    function->host = reduce_by_host;
    function->host_type = element->base;
    function->host_op = BITS(op);
    return element->base && host_combines(HANDLE_OF(MPI_Datatype, element->base), op);
}

static NOINLINE int slow_accumulate(struct win *win, const struct operation *o)
{
    const struct typemap *origin = NULL, *result = NULL, *there = NULL;
    bool uses_origin = op_of(o->op) != OP_NO_OP;
    int wrong = judge(o->there, &there);
    if (!wrong && uses_origin)
        wrong = judge_own(o->origin, &origin);
    if (!wrong && o->fetches)
        wrong = judge_own(o->result, &result);
    if (wrong)
        return report_class(o->handle, wrong);
    const struct typemap *element = predefined_for(there);
    struct reduction_function function;
    if (!find_reduction_function(o->op, element, &function))
        return report_class(o->handle, MPI_ERR_OP);
    if (o->rank == MPI_PROC_NULL)
        return done(o, 0);
    struct buffer from = {(char *)o->origin.at, origin, (size_t)o->origin.count};
    struct buffer back = {(char *)o->result.at, result, (size_t)o->result.count};
    struct buffer far = {NULL, there, (size_t)o->there.count};
    enum win_error error =
        win_accumulate(win, &function, element, from, back, o->rank, o->disp, far);
    if (error)
        return report(o->handle, error);
    size_t bytes = 0;
    buffer_bytes(far, &bytes);
    return done(o, bytes);
}

/* Contiguous elements of one datatype on all sides. `result.at` NULL: nothing is fetched. */
HOT_INLINE bool accumulate(enum call call, struct win *win, struct side origin, struct side result,
                           struct place place, struct side there, MPI_Op handle)
{
    const struct typemap *map = typemap_of(there.type);
    enum op op = op_of(handle);
    bool same = origin.count == there.count && origin.type == there.type;
    same = same && (!result.at || (result.count == there.count && result.type == there.type));
    if (!same || UNLIKELY((uint64_t)there.count - 1 >= INT_MAX) || UNLIKELY(!map) ||
        UNLIKELY(op == OP_COUNT) || UNLIKELY(!map->simple) ||
        UNLIKELY(!origin.at && op != OP_NO_OP))
        return false;
    const struct reduction_function *function = &reduction_functions[op][map->prim];
    if (UNLIKELY(map->element != function->element))
        return false;
    size_t bytes = map->size * (size_t)there.count;
    char *at = win_at(win, place.rank, place.disp, bytes);
    if (UNLIKELY(!at))
        return false;
    struct thread *thread = thread_self();
    win_combine(win, thread, function, (uint32_t)place.rank, at, origin.at, (char *)result.at,
                bytes);
    thread_count(thread, call, bytes);
    return true;
}

/* With a result, which must be somewhere. */
HOT_INLINE bool get_accumulate(enum call call, struct win *win, struct side origin,
                               struct side result, struct place place, struct side there,
                               MPI_Op handle)
{
    return LIKELY(result.at != NULL) && accumulate(call, win, origin, result, place, there, handle);
}

int accel_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint disp,
                       MPI_Op op, MPI_Win handle)
{
    struct side from = {origin, 1, type}, back = {result, 1, type}, there = {NULL, 1, type};
    struct win *win = fast_window(handle);
    if (LIKELY(win && get_accumulate(CALL_Fetch_and_op, win, from, back, (struct place){rank, disp},
                                     there, op)))
        return MPI_SUCCESS;
    struct operation o = {.call = CALL_Fetch_and_op,
                          .rank = rank,
                          .disp = disp,
                          .origin = from,
                          .there = there,
                          .result = back,
                          .fetches = true,
                          .op = op,
                          .handle = handle};
    if (win)
        return slow_accumulate(win, &o);
    return host_must(&o) ? host.Fetch_and_op(origin, result, type, rank, disp, op, handle)
                         : done(&o, 0);
}

/* Integers, logicals and bytes (MPI-4.0, 12.3.4); characters too, as hosts have it. */
static bool can_compare(const struct typemap *map)
{
    uint8_t prim = map->prim;
    return map->simple && predefined_for(map) == map &&
           (prim <= PRIM_U64 || (prim >= PRIM_L8 && prim <= PRIM_BYTE) || prim == PRIM_OTHER);
}

static NOINLINE int slow_compare_and_swap(struct win *win, const struct operation *o,
                                          const void *compare)
{
    const struct typemap *map;
    int wrong = judge_own(o->result, &map);
    if (!wrong && (!o->origin.at || !compare))
        wrong = MPI_ERR_BUFFER;
    if (!wrong && !can_compare(map))
        wrong = MPI_ERR_TYPE;
    if (wrong)
        return report_class(o->handle, wrong);
    if (o->rank == MPI_PROC_NULL)
        return done(o, 0);
    char *at;
    enum win_error error = win_locate(win, o->rank, o->disp, 0, (ptrdiff_t)map->size, &at);
    if (error)
        return report(o->handle, error);
    win_compare_and_swap(win, thread_self(), (uint32_t)o->rank, at, o->origin.at, compare,
                         (void *)o->result.at, map->size);
    return done(o, map->size);
}

HOT_INLINE bool compare_and_swap(struct win *win, const void *origin, const void *compare,
                                 void *result, MPI_Datatype type, struct place place)
{
    const struct typemap *map = typemap_of(type);
    if (UNLIKELY(!map) || UNLIKELY(map->prim > PRIM_U64) || UNLIKELY(map->size != map->element) ||
        UNLIKELY(!origin || !compare || !result))
        return false;
    char *at = win_at(win, place.rank, place.disp, map->size);
    if (UNLIKELY(!at))
        return false;
    struct thread *thread = thread_self();
    win_compare_and_swap(win, thread, (uint32_t)place.rank, at, origin, compare, result, map->size);
    thread_count(thread, CALL_Compare_and_swap, map->size);
    return true;
}

int accel_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                           int rank, MPI_Aint disp, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (LIKELY(win &&
               compare_and_swap(win, origin, compare, result, type, (struct place){rank, disp})))
        return MPI_SUCCESS;
    struct operation o = {.call = CALL_Compare_and_swap,
                          .rank = rank,
                          .disp = disp,
                          .origin = {origin, 1, type},
                          .there = {NULL, 1, type},
                          .result = {result, 1, type},
                          .fetches = true,
                          .handle = handle};
    if (win)
        return slow_compare_and_swap(win, &o, compare);
    return host_must(&o) ? host.Compare_and_swap(origin, compare, result, type, rank, disp, handle)
                         : done(&o, 0);
}

/* ---- the calls with counts: each for int, and for MPI_Count where the host has it ---- */

#define COUNT          int
#define HANDLER(name)  accel_##name
#define NUMBER(name)   CALL_##name
#define FUNCTION(name) host.name
#include "pmpi_wrap/abi/windows/put_get_accumulate.def"
#undef COUNT
#undef HANDLER
#undef NUMBER
#undef FUNCTION

#if MPI_VERSION >= 4
#define COUNT          MPI_Count
#define HANDLER(name)  accel_##name##_c
#define NUMBER(name)   CALL_##name##_c
#define FUNCTION(name) host.name##_c
#include "pmpi_wrap/abi/windows/put_get_accumulate.def"
#endif
