#include "pmpi_wrap/abi/windows/dynamic_window.h"

#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/host_wait.h"
#include "rma_shm/access.h"

#include <stdlib.h>

/* ---- creating and attaching ---- */

bool dynamic_window_can(const struct window_request *r, const struct comm_properties *s)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    if (s->size == 1)
        return false;
    if (!BITS(r->info) || r->info == constants.info_null)
        return true; /* creating the host's window reports an invalid handle */
    host.Info_get(r->info, "no_locks", sizeof value - 1, value, &found);
    return !found || !(value[0] == 't' || value[0] == 'T' || value[0] == '1');
}

int accel_Win_attach(MPI_Win handle, void *base, MPI_Aint size)
{
    int result = host.Win_attach(handle, base, size);
    struct win *win = fast_window(handle);
    uint64_t position;
    if (result != MPI_SUCCESS || !win || !win->attached)
        return result;
    if (size > 0 && node_position(base, (size_t)size, &position) &&
        attached_add(win->attached, base, (size_t)size, position))
        thread_count(thread_self(), CALL_Win_attach, (size_t)size);
    else
        note_deferred(CALL_Win_attach, REASON_NOT_OUR_MEMORY);
    return result;
}

int accel_Win_detach(MPI_Win handle, const void *base)
{
    int result = host.Win_detach(handle, base);
    struct win *win = fast_window(handle);
    if (result != MPI_SUCCESS || !win || !win->attached)
        return result;
    attached_remove(win->attached, base);
    thread_count(thread_self(), CALL_Win_detach, 0);
    return result;
}

/* ---- epochs of the host's window ---- */

/* The host may need a rank that sleeps. */
static void wake_ranks(void)
{
    if (host_wait_sleeps())
        host_wait_sending(-1);
}

static int open_below(struct win *win, MPI_Win handle, int rank)
{
    struct attached_peer *peer = &win->attached->peer[rank];
    int result = MPI_SUCCESS;
    bool locked = lock_if_concurrent(&win->attached->mutex);
    if (!atomic_load_explicit(&peer->below, memory_order_relaxed)) {
        wake_ranks();
        result = host.Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, handle);
        if (result == MPI_SUCCESS) {
            atomic_store_explicit(&peer->below, true, memory_order_release);
            atomic_fetch_add(&win->epochs_below, 1);
        }
    }
    unlock_if_locked(&win->attached->mutex, locked);
    return result;
}

int dynamic_window_leave(struct win *win, MPI_Win handle, int rank)
{
    struct attached_peer *peer = &win->attached->peer[rank];
    int result = MPI_SUCCESS;
    if (!atomic_load_explicit(&peer->below, memory_order_acquire))
        result = open_below(win, handle, rank);
    if (result == MPI_SUCCESS) /* release: see flush_target() */
        atomic_store_explicit(&peer->outstanding, true, memory_order_release);
    return result;
}

/* Call `perform` for a target, or for all. Returns the first error. */
static inline int for_targets(struct win *win, int rank, int perform(struct win *, int))
{
    int result = MPI_SUCCESS;
    if (rank != ALL_RANKS)
        return perform(win, rank);
    for (int r = 0; r < (int)win->size; r++) {
        int error = perform(win, r);
        result = result == MPI_SUCCESS ? error : result;
    }
    return result;
}

/* acquire: the thread that has marked the operation has opened the epoch before. */
static bool is_outstanding(const struct attached_peer *peer)
{
    return atomic_load_explicit(&peer->outstanding, memory_order_acquire);
}

static int flush_target(struct win *win, int rank)
{
    struct attached_peer *peer = &win->attached->peer[rank];
    if (!is_outstanding(peer))
        return MPI_SUCCESS;
    if (!thread_concurrent)
        atomic_store_explicit(&peer->outstanding, false, memory_order_relaxed);
    wake_ranks();
    return host.Win_flush(rank, HANDLE_OF(MPI_Win, win->handle));
}

static int flush_target_locally(struct win *win, int rank)
{
    if (!is_outstanding(&win->attached->peer[rank]))
        return MPI_SUCCESS;
    wake_ranks();
    return host.Win_flush_local(rank, HANDLE_OF(MPI_Win, win->handle));
}

static int close_target(struct win *win, int rank)
{
    struct attached_peer *peer = &win->attached->peer[rank];
    if (!atomic_load_explicit(&peer->below, memory_order_acquire))
        return MPI_SUCCESS;
    wake_ranks();
    atomic_store_explicit(&peer->outstanding, false, memory_order_relaxed);
    atomic_store_explicit(&peer->below, false, memory_order_relaxed);
    atomic_fetch_sub(&win->epochs_below, 1);
    return host.Win_unlock(rank, HANDLE_OF(MPI_Win, win->handle));
}

int dynamic_window_flush(struct win *win, int rank, bool local)
{
    return for_targets(win, rank, local ? flush_target_locally : flush_target);
}

int dynamic_window_close(struct win *win, int rank)
{
    return atomic_load_explicit(&win->epochs_below, memory_order_relaxed)
               ? for_targets(win, rank, close_target)
               : MPI_SUCCESS;
}

/* ---- operations on memory of both kinds ----
 *
 * The origin's data are first copied to contiguous memory, or its results finally from there. The
 * host's part is flushed before the operation returns. */

struct division;

/* Put, get or accumulate `bytes` bytes between `offset` in the contiguous data and an address of
 * the target. `at` is that address in this process, or NULL: then the host performs this part.
 * Returns an error that has been reported. */
typedef int perform_fn(struct division *d, uint64_t address, char *at, size_t offset, size_t bytes);

struct division {
    struct win *win;
    const struct operation *o;
    perform_fn *perform;
    size_t element; /* bytes that are not divided */
    char *data;     /* contiguous: of the origin or, in MPI_Get, for it */
    char *result;   /* contiguous: of an accumulate that fetches; otherwise NULL */
    const struct reducer *reducer;
    const struct typemap *map; /* of an element */
    int error;
};

/* Find the longest part that begins at `address` and that is performed wholly here or wholly by the
 * host. Returns its address in this process, or NULL if the host performs it. */
static char *first_part(const struct division *d, uint64_t address, size_t bytes, size_t *part)
{
    struct attached_table *table = d->win->attached->peer[d->o->to.rank].table;
    struct attached_found range;
    size_t unit = d->element;
    *part = min_size(bytes, unit * ((size_t)INT_MAX / 2 / unit)); /* the host counts in int */
    if (attached_find(table, address, address + *part, &range) == ATTACHED_NONE)
        return NULL;
    if (range.begin > address) {
        *part = min_size(*part, (range.begin - address + unit - 1) / unit * unit);
        return NULL;
    }
    size_t inside = (range.end - address) / unit * unit;
    *part = min_size(*part, inside ? inside : unit);
    return inside ? (char *)node_at(range.position) + (address - range.begin) : NULL;
}

static void divide_block(struct division *d, uint64_t address, size_t offset, size_t bytes)
{
    for (size_t part; bytes && !d->error; address += part, offset += part, bytes -= part) {
        char *at = first_part(d, address, bytes, &part);
        if (!at)
            d->error = dynamic_window_leave(d->win, d->o->handle, d->o->to.rank);
        if (!d->error)
            d->error = d->perform(d, address, at, offset, part);
    }
}

/* `target` is an address in the target's process, which is only passed on. */
static void divide_piece(void *context, char *target, ptrdiff_t target_stride, char *data,
                         ptrdiff_t data_stride, size_t bytes, size_t blocks)
{
    struct division *d = context;
    for (; blocks && !d->error; blocks--, target += target_stride, data += data_stride)
        divide_block(d, (uintptr_t)target, (size_t)(data - d->data), bytes);
}

/* Perform `bytes` bytes of data of the target's datatype. */
static int perform_divided(struct division *d, const struct typemap *target, size_t bytes)
{
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, bytes);
    note_deferred(d->o->call, REASON_NOT_OUR_MEMORY);
    typemap_walk((char *)(uintptr_t)d->o->to.disp, target, d->data, &plain, bytes, divide_piece, d);
    int error = dynamic_window_flush(d->win, d->o->to.rank, false);
    return d->error ? d->error : error;
}

static int put_part(struct division *d, uint64_t address, char *at, size_t offset, size_t bytes)
{
    if (!at)
        return host.Put(d->data + offset, (int)bytes, constants.byte, d->o->to.rank,
                        (MPI_Aint)address, (int)bytes, constants.byte, d->o->handle);
    copy_bytes(at, d->data + offset, bytes);
    win_wrote(d->win);
    return MPI_SUCCESS;
}

static int get_part(struct division *d, uint64_t address, char *at, size_t offset, size_t bytes)
{
    if (!at)
        return host.Get(d->data + offset, (int)bytes, constants.byte, d->o->to.rank,
                        (MPI_Aint)address, (int)bytes, constants.byte, d->o->handle);
    copy_bytes(d->data + offset, at, bytes);
    return MPI_SUCCESS;
}

int dynamic_window_divide_transfer(struct win *win, const struct operation *o, bool put)
{
    const struct typemap *local = typemap_to_move(typemap_of(o->origin.type));
    const struct typemap *remote = typemap_to_move(typemap_of(o->target.type));
    size_t bytes =
        put ? local->size * (size_t)o->origin.count : remote->size * (size_t)o->target.count;
    struct division d = {.win = win, .o = o, .perform = put ? put_part : get_part, .element = 1};
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, bytes);
    d.data = malloc(bytes);
    if (!d.data)
        return report_win_error(o->handle, WIN_ERR_MEMORY);
    if (put)
        typemap_copy(d.data, &plain, o->origin.address, local, bytes);
    int error = perform_divided(&d, remote, bytes);
    if (!put && !error)
        typemap_copy((char *)o->origin.address, local, d.data, &plain, bytes);
    free(d.data);
    return error;
}

/* ---- accumulates ---- */

static int accumulate_part_by_host(struct division *d, uint64_t address, size_t offset,
                                   size_t bytes)
{
    const struct operation *o = d->o;
    MPI_Datatype type = HANDLE_OF(MPI_Datatype, d->map->base);
    int count = (int)(bytes / d->element), rank = o->to.rank;
    MPI_Aint at = (MPI_Aint)address;
    return d->result ? host.Get_accumulate(d->data + offset, count, type, d->result + offset, count,
                                           type, rank, at, count, type, o->op, o->handle)
                     : host.Accumulate(d->data + offset, count, type, rank, at, count, type, o->op,
                                       o->handle);
}

static int accumulate_part(struct division *d, uint64_t address, char *at, size_t offset,
                           size_t bytes)
{
    size_t count = bytes / d->element;
    struct buffer origin = {d->data + offset, d->map, count}, result = {0};
    if (!at)
        return accumulate_part_by_host(d, address, offset, bytes);
    if (d->result)
        result = (struct buffer){d->result + offset, d->map, count};
    enum win_error error = win_accumulate(d->win, d->reducer, d->map, origin, result, d->o->to.rank,
                                          (int64_t)address, (struct buffer){NULL, d->map, count});
    return error ? report_win_error(d->o->handle, error) : MPI_SUCCESS;
}

/* Copy the result without writing to holes. */
static void deliver_parts(const struct division *d, const struct typemap *to, size_t bytes)
{
    const struct typemap *element = typemap_to_move(d->map);
    typemap_copy((char *)d->o->result.address, typemap_to_move(to), d->result, element,
                 bytes / d->element * element->size);
}

int dynamic_window_divide_accumulate(struct win *win, const struct operation *o,
                                     const struct reducer *reducer, const struct typemap *maps[3])
{
    const struct typemap *element = predefined_for(maps[2]);
    bool uses = reducer->op != OP_NO_OP;
    if (!maps[2]->base || !element || (uses && maps[0]->base != maps[2]->base) ||
        (o->fetches && maps[1]->base != maps[2]->base)) {
        int error = dynamic_window_leave(win, o->handle, o->to.rank);
        return error ? error : DEFERRED;
    }
    size_t bytes =
        uses ? maps[0]->size * (size_t)o->origin.count : maps[2]->size * (size_t)o->target.count;
    struct division d = {.win = win,
                         .o = o,
                         .perform = accumulate_part,
                         .element = element->size,
                         .data = calloc(1, bytes),
                         .result = o->fetches ? malloc(bytes) : NULL,
                         .reducer = reducer,
                         .map = element};
    int error = MPI_ERR_NO_MEM;
    if (d.data && (d.result || !o->fetches)) {
        struct run run;
        struct typemap plain = typemap_of_bytes(&run, bytes);
        if (uses)
            typemap_copy(d.data, &plain, o->origin.address, maps[0], bytes);
        error = perform_divided(&d, maps[2], bytes);
        if (!error && d.result)
            deliver_parts(&d, maps[1], bytes);
    } else {
        report_win_error(o->handle, WIN_ERR_MEMORY);
    }
    free(d.data);
    free(d.result);
    return error;
}
