#include "pmpi_wrap/abi/windows/operation.h"

#include "core/log.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/dynamic_window.h"
#include "pmpi_wrap/quirks.h"
#include "rma_shm/epoch.h"

#include <assert.h>

/* ---- checking arguments ---- */

/* MPI_SUCCESS and the typemap, or the class of the error. */
static int check_side(struct data side, const struct typemap **map)
{
    *map = typemap_of(side.type);
    if (side.count < 0)
        return MPI_ERR_COUNT;
    return *map ? MPI_SUCCESS : MPI_ERR_TYPE;
}

/* check_side() for a side in this rank's memory, which is not accessed if the target is
 * MPI_PROC_NULL. */
static int check_local_side(const struct operation *o, struct data side, const struct typemap **map)
{
    int class = check_side(side, map);
    if (!class && !side.address && o->to.rank != MPI_PROC_NULL && side.count && (*map)->simple &&
        (*map)->size)
        return MPI_ERR_BUFFER;
    return class;
}

/* ---- the host's check of the arguments ----
 *
 * Hosts check different arguments, in different orders. An operation with a target of MPI_PROC_NULL
 * moves no data and needs no epoch, but the host checks its other arguments, and calls the error
 * handler of the window if one is wrong. */

static int host_count(MPI_Count count)
{
    return count < 0 ? -1 : count > INT_MAX ? INT_MAX : (int)count;
}

/* Do not call the variants that return a request: with a wrong argument, some of them crash in Open
 * MPI 4.1. */
static int check_by_host(const struct operation *o, int rank)
{
    int count = host_count(o->origin.count), target_count = host_count(o->target.count);
    switch (o->call) {
    case CALL_Put:
    case CALL_Put_c:
    case CALL_Rput:
    case CALL_Rput_c:
        return host.Put(o->origin.address, count, o->origin.type, rank, o->to.disp, target_count,
                        o->target.type, o->handle);
    case CALL_Get:
    case CALL_Get_c:
    case CALL_Rget:
    case CALL_Rget_c:
        return host.Get((void *)o->origin.address, count, o->origin.type, rank, o->to.disp,
                        target_count, o->target.type, o->handle);
    case CALL_Fetch_and_op:
        return host.Fetch_and_op(o->origin.address, (void *)o->result.address, o->origin.type, rank,
                                 o->to.disp, o->op, o->handle);
    case CALL_Compare_and_swap:
        return host.Compare_and_swap(o->origin.address, o->compare, (void *)o->result.address,
                                     o->origin.type, rank, o->to.disp, o->handle);
    default:
        return o->fetches
                   ? host.Get_accumulate(o->origin.address, count, o->origin.type,
                                         (void *)o->result.address, host_count(o->result.count),
                                         o->result.type, rank, o->to.disp, target_count,
                                         o->target.type, o->op, o->handle)
                   : host.Accumulate(o->origin.address, count, o->origin.type, rank, o->to.disp,
                                     target_count, o->target.type, o->op, o->handle);
    }
}

/* If the host called an error handler of the program and returned MPI_SUCCESS, the error would be
 * reported again. */
static int check_and_report(const struct operation *o, int rank)
{
    MPI_Errhandler handler;
    if (!quirk(QUIRK_HANDLED_ERRORS_ARE_SUCCESS))
        return check_by_host(o, rank);
    host.Win_get_errhandler(o->handle, &handler);
    host.Win_set_errhandler(o->handle, MPI_ERRORS_RETURN);
    int error = check_by_host(o, rank);
    host.Win_set_errhandler(o->handle, handler);
    host.Errhandler_free(&handler);
    return error == MPI_SUCCESS ? error : report_on_win(o->handle, error);
}

/* Let the host check the arguments. `class`: of the error that this library has found, or
 * MPI_SUCCESS. An error that the host finds takes precedence; if it finds none in an operation on
 * MPI_PROC_NULL, there is none. Returns the error, which has been reported. */
static COLD int check_with_host(const struct win *win, const struct operation *o, int class)
{
    int error = check_and_report(o, (uint32_t)o->to.rank < win->size ? MPI_PROC_NULL : o->to.rank);
    if (error != MPI_SUCCESS || o->to.rank == MPI_PROC_NULL || class == MPI_SUCCESS)
        return error;
    return report_on_win(o->handle, class);
}

/* Report the error, unless only the host can tell whether it is one. */
static inline int check(const struct win *win, const struct operation *o, int class, bool doubtful)
{
    bool no_target = (uint32_t)o->to.rank >= win->size && o->to.rank != MPI_PROC_NULL;
    return UNLIKELY(class || doubtful || no_target || o->to.disp < 0)
               ? check_with_host(win, o, class)
               : MPI_SUCCESS;
}

static int complete_operation(const struct operation *o, size_t bytes)
{
    thread_count(thread_self(), o->call, bytes);
    return end_operation(o->request);
}

/* Most hosts do not check whether an operation lies inside the window, so the program may run
 * without this library. */
static COLD int report_operation_error(const struct operation *o, enum win_error error)
{
    if (error == WIN_ERR_RANGE)
        log_once(0,
                 "%s is refused: its data at displacement %lld of rank %d are not inside that "
                 "rank's window; the MPI alone may not check this; correct the program, such as a "
                 "window size in elements instead of bytes, or set MPIACCEL_RMA=0",
                 call_names[o->call], (long long)o->to.disp, o->to.rank);
    return report_win_error(o->handle, error);
}

/* ---- windows that are left to the host ---- */

/* False also for arguments that only the host can check. */
static bool has_no_data(struct data side)
{
    int size;
    if (side.count <= 0 || side.type == constants.datatype_null)
        return side.count == 0;
    const struct entry *known = registry_find(&datatype_registry, BITS(side.type));
    if (LIKELY(known && known->object))
        return ((const struct typemap *)known->object)->size == 0;
    return host.Type_size(side.type, &size) == MPI_SUCCESS && size == 0;
}

/* A handle that is 0 is left to the host: MPI_Type_size would report it to another error handler.
 */
static bool is_plausible(struct data side)
{
    return side.count >= 0 && side.type != constants.datatype_null && BITS(side.type);
}

/* Whether the operation has no data or goes to MPI_PROC_NULL: Open MPI 4.1 fails in some of
 * these. */
static bool moves_no_data(const struct operation *o, const struct entry *window)
{
    if (!window || !is_plausible(o->origin) || !is_plausible(o->target))
        return false;
    if (o->to.rank == MPI_PROC_NULL)
        return true;
    return o->to.rank >= 0 && (uint32_t)o->to.rank < window_unpack(window->detail).ranks &&
           has_no_data(o->target) && has_no_data(o->origin);
}

static COLD int defer_operation(const struct operation *o)
{
    const struct entry *window = window_entry(o->handle);
    if (moves_no_data(o, window))
        return complete_operation(o, 0);
    spanning_left_to_host(o->handle, o->to.rank);
    note_deferred_on_win(o->call, window);
    return DEFERRED;
}

/* ---- dynamic windows ---- */

/* Whether the target is open, and its memory contiguous and outside all ranges of its table. Then
 * the operation is left to the host, which also checks all arguments. Otherwise a range that holds
 * all of it is kept, so that win_locate() does not search again. */
static bool goes_to_host(struct win *win, const struct operation *o)
{
    struct attached_found range;
    size_t bytes;
    uint64_t low = (uint64_t)o->to.disp, high;
    if (!win->attached || (uint32_t)o->to.rank >= win->size ||
        win->peer[o->to.rank].stamp != win->stamp || o->target.count <= 0)
        return false;
    const struct typemap *map = typemap_of(o->target.type);
    if (!map || !map->simple ||
        __builtin_mul_overflow(map->size, (size_t)o->target.count, &bytes) ||
        __builtin_add_overflow(low, bytes, &high))
        return false;
    enum attached_part part =
        attached_find(win->attached->peer[o->to.rank].table, low, high, &range);
    if (part == ATTACHED_ALL)
        win_keep_range(&win->peer[o->to.rank], &range);
    return part == ATTACHED_NONE;
}

static int leave_operation(struct win *win, const struct operation *o)
{
    int error = dynamic_window_leave(win, o->handle, o->to.rank);
    if (error)
        return error;
    note_deferred(o->call, REASON_NOT_OUR_MEMORY);
    return DEFERRED;
}

/* ---- put and get ---- */

/* Put or get in a window that spans nodes, if the target is open. False: nothing has been done, and
 * the host finds the error if there is one. */
static bool transfer_in_node(const struct operation *o, bool put)
{
    struct spanning_window *s = spanning_window_of(o->handle);
    int peer = s ? spanning_open_peer(s, o->to.rank) : -1;
    if (peer < 0)
        return false;
    struct location to = {peer, o->to.disp};
    if (LIKELY(put ? fast_put(o->call, s->node, o->origin, to, o->target)
                   : fast_get(o->call, s->node, o->origin, to, o->target)))
        return true;
    const struct typemap *origin_map, *target_map;
    if (check_local_side(o, o->origin, &origin_map) || check_side(o->target, &target_map))
        return false;
    struct buffer origin = {(char *)o->origin.address, origin_map, (size_t)o->origin.count};
    struct buffer target = {NULL, target_map, (size_t)o->target.count};
    enum win_error error = put ? win_put(s->node, origin, peer, to.disp, target)
                               : win_get(s->node, origin, peer, to.disp, target);
    size_t bytes = 0;
    if (error != WIN_OK || !buffer_bytes(put ? origin : target, &bytes))
        return false;
    thread_count(thread_self(), o->call, bytes);
    return true;
}

NOINLINE int slow_transfer(struct win *win, const struct operation *o, bool put)
{
    const struct typemap *origin_map = NULL, *target_map = NULL;
    if (!win)
        return transfer_in_node(o, put) ? end_operation(o->request) : defer_operation(o);
    if (goes_to_host(win, o))
        return leave_operation(win, o);
    int class = check_local_side(o, o->origin, &origin_map);
    if (!class)
        class = check_side(o->target, &target_map);
    class = check(win, o, class, false);
    if (class)
        return class;
    if (o->to.rank == MPI_PROC_NULL)
        return complete_operation(o, 0);
    assert(origin_map && target_map);
    struct buffer origin = {(char *)o->origin.address, origin_map, (size_t)o->origin.count};
    struct buffer target = {NULL, target_map, (size_t)o->target.count};
    enum win_error error = put ? win_put(win, origin, o->to.rank, o->to.disp, target)
                               : win_get(win, origin, o->to.rank, o->to.disp, target);
    if (error == WIN_HOST)
        return leave_operation(win, o);
    if (error == WIN_DIVIDED) {
        int divided = dynamic_window_divide_transfer(win, o, put);
        return divided ? divided : end_operation(o->request);
    }
    if (error)
        return report_operation_error(o, error);
    size_t bytes = 0;
    buffer_bytes(put ? origin : target, &bytes);
    return complete_operation(o, bytes);
}

/* ---- the accumulate family ---- */

/* Arguments that this library could use, but not every host accepts. */
static bool is_doubtful(const struct operation *o, enum op op, const struct typemap *target)
{
    return (op == OP_NO_OP && !o->fetches) ||
           (o->call == CALL_Fetch_and_op && !is_predefined(o->target.type, target)) ||
           (o->to.rank == MPI_PROC_NULL && o->origin.type != o->target.type);
}

static int accumulate(struct win *win, const struct operation *o, const struct reducer *reducer,
                      const struct typemap *maps[3])
{
    struct buffer origin = {(char *)o->origin.address, maps[0], (size_t)o->origin.count};
    struct buffer result = {(char *)o->result.address, maps[1], (size_t)o->result.count};
    struct buffer target = {NULL, maps[2], (size_t)o->target.count};
    enum win_error error = win_accumulate(win, reducer, predefined_for(target.map), origin, result,
                                          o->to.rank, o->to.disp, target);
    if (error == WIN_HOST)
        return leave_operation(win, o);
    if (error == WIN_DIVIDED) {
        int divided = dynamic_window_divide_accumulate(win, o, reducer, maps);
        return divided ? divided : end_operation(o->request);
    }
    if (error == WIN_ERR_TYPE)
        return check_with_host(win, o, MPI_ERR_TYPE);
    if (error)
        return report_operation_error(o, error);
    size_t bytes = 0;
    buffer_bytes(target, &bytes);
    return complete_operation(o, bytes);
}

NOINLINE int slow_accumulate(struct win *win, const struct operation *o)
{
    const struct typemap *maps[3] = {NULL}; /* of origin, result and target */
    struct reducer reducer;
    enum op op = op_of(o->op);
    if (!win)
        return defer_operation(o);
    if (goes_to_host(win, o))
        return leave_operation(win, o);
    int class = check_side(o->target, &maps[2]);
    if (!class && op != OP_NO_OP)
        class = check_local_side(o, o->origin, &maps[0]);
    if (!class && o->fetches)
        class = check_local_side(o, o->result, &maps[1]);
    bool undefined = !class && !find_reducer(o->op, predefined_for(maps[2]), &reducer);
    bool ignored =
        undefined && op != OP_COUNT && quirk(QUIRK_ACCUMULATES_BYTES) && !o->target.count;
    if (ignored)
        reducer = (struct reducer){.op = OP_NO_OP, .element = 1};
    else if (undefined)
        class = MPI_ERR_OP;
    class = check(win, o, class, is_doubtful(o, op, maps[2]));
    if (class)
        return class;
    if (o->to.rank == MPI_PROC_NULL)
        return complete_operation(o, 0);
    assert(maps[2]);
    return accumulate(win, o, &reducer, maps);
}

/* Whether the datatype is one integer, logical or byte (MPI-4.0, 12.3.4), or a character, which
 * hosts accept, or any element without holes, which some hosts accept. */
static bool can_compare(const struct typemap *map)
{
    uint8_t prim = map->prim;
    return map->simple && map->size == map->element &&
           (prim <= PRIM_U64 || (prim >= PRIM_L8 && prim <= PRIM_BYTE) || prim == PRIM_OTHER ||
            quirk(QUIRK_SWAPS_ANY_TYPE));
}

NOINLINE int slow_compare_and_swap(struct win *win, const struct operation *o)
{
    const struct typemap *map;
    if (!win)
        return defer_operation(o);
    if (goes_to_host(win, o))
        return leave_operation(win, o);
    int class = check_local_side(o, o->result, &map);
    if (!class && o->to.rank != MPI_PROC_NULL && (!o->origin.address || !o->compare))
        class = MPI_ERR_BUFFER;
    if (!class && !can_compare(map))
        class = MPI_ERR_TYPE;
    class = check(win, o, class, !is_predefined(o->target.type, map) || map->prim == PRIM_OTHER);
    if (class)
        return class;
    if (o->to.rank == MPI_PROC_NULL)
        return complete_operation(o, 0);
    char *at;
    enum win_error error = win_locate(win, o->to.rank, o->to.disp, 0, (ptrdiff_t)map->size, &at);
    if (error == WIN_HOST || error == WIN_DIVIDED)
        return leave_operation(win, o);
    if (error)
        return report_operation_error(o, error);
    win_compare_and_swap(win, thread_self(), (uint32_t)o->to.rank, at, o->origin.address,
                         o->compare, (void *)o->result.address, map->size);
    return complete_operation(o, map->size);
}
