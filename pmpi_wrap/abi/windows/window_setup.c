#include "pmpi_wrap/abi/windows/window_setup.h"

#include "alloc/arena.h"
#include "coll_inplace/coll.h"
#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/communicators/properties.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/memory/alignment.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/window.h"

#include <stdlib.h>

/* ---- registering ---- */

/* `fast` is NULL for a window that is left to the host; then `detail` has the reason, and `entry`
 * may be NULL: the host does all operations on a window that is not registered. */
static void register_window(struct entry *entry, MPI_Win win, struct win *fast, MPI_Comm comm,
                            enum call call, struct window_detail detail)
{
    int ranks = 0;
    host.Comm_size(comm, &ranks);
    detail.ranks = ranks < UINT16_MAX ? (uint16_t)ranks : UINT16_MAX;
    if (fast)
        fast->handle = BITS(win);
    if (entry) {
        registry_put(&window_registry, entry, BITS(win), fast, window_pack(detail));
        free_notice_win(win);
    }
    uint64_t count = stats_window(fast, (enum reason)detail.reason);
    if (fast)
        log_message(3, "%s: an accelerated window of %d ranks", call_names[call], ranks);
    else if (count == 1)
        log_message(2, "%s: a window is left to the host: %s; %s", call_names[call],
                    stats_reasons[detail.reason], stats_advice[detail.reason]);
}

int window_deferred(int result, MPI_Win *win, MPI_Comm comm, enum call call, enum reason reason)
{
    if (result == MPI_SUCCESS)
        register_window(registry_new_entry(&window_registry), *win, NULL, comm, call,
                        (struct window_detail){.reason = (uint8_t)reason});
    return result;
}

/* ---- creating ---- */

/* Open MPI 4.1 may refuse MPI_Win_create on a communicator of one process, depending on its
 * components (https://github.com/open-mpi/ompi/issues/10726). */
static bool host_refuses_one_rank(void)
{
    static enum { UNKNOWN, NO, YES } refuses; /* read and written under the lock */
    MPI_Win win;
    MPI_Comm comm = private_comm_lock();
    if (refuses == UNKNOWN) {
        enter_host();
        refuses = host.Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS ? NO : YES;
        if (refuses == NO)
            host.Win_free(&win);
        leave_host();
    }
    bool answer = refuses == YES;
    private_comm_unlock();
    return answer;
}

/* Create the host's window below a fast one, which keeps its attributes, group, name, info and
 * error handler. */
static int create_host_window(const struct window_request *r, void *base, MPI_Win *win)
{
    int size;
    void *unused;
    host.Comm_size(r->comm, &size);
    bool stand_in = size == 1 && host_refuses_one_rank();
    return stand_in ? host.Win_allocate(0, 1, r->info, r->comm, &unused, win)
                    : host.Win_create(base, r->size, (int)r->unit, r->info, r->comm, win);
}

/* All that this rank allocates for a fast window. */
struct new_window {
    struct win *win;
    struct entry *entry; /* of the registry */
    void *memory;        /* for MPI_Win_allocate */
};

static void *base_of(const struct window_request *r, const struct new_window *new)
{
    return r->flavor == MPI_WIN_FLAVOR_ALLOCATE ? new->memory : r->base;
}

/* If the info handle is 0, creating the host's window reports that to the communicator's error
 * handler. */
static size_t requested_alignment(const struct window_request *r)
{
    int ignored;
    return BITS(r->info) ? alignment_of(r->info, &ignored) : ARENA_GRAIN;
}

/* Allocate it. Returns this rank's reason against a fast window, or REASON_NONE. */
static enum reason allocate(const struct window_request *r, const struct comm_properties *s,
                            struct new_window *new)
{
    bool allocates = r->flavor == MPI_WIN_FLAVOR_ALLOCATE;
    new->win = win_prepare((uint32_t)s->size, (uint32_t)s->rank);
    new->entry = registry_new_entry(&window_registry);
    if (r->size < 0 || r->unit <= 0 || r->unit > INT32_MAX)
        return REASON_ARGUMENTS;
    if (gpu_memory_possible())
        return REASON_GPU;
    if (allocates)
        new->memory = arena_alloc((size_t)r->size, requested_alignment(r));
    if (new->memory) /* the hosts' is new shared memory, and programs rely on its zeroes */
        arena_clear(new->memory, (size_t)r->size);
    return !new->win || !new->entry || (allocates && !new->memory) ? REASON_NO_MEMORY : REASON_NONE;
}

/* What the window structure does not own. */
static void discard_parts(struct new_window *new)
{
    registry_discard(&window_registry, new->entry);
    if (new->memory)
        arena_free(new->memory);
}

/* The exchange goes through the communicator's team if it has one. All ranks find the same, because
 * they make this call and those that set up a team in the same order. */
static bool exchange(const struct window_request *r, struct win_offer *own, struct win_offer *all)
{
    struct team *team = team_in_collective(r->comm);
    if (team) {
        struct run run;
        struct typemap offer = typemap_of_bytes(&run, sizeof *own);
        struct blocks blocks = {.at = (char *)all, .map = &offer, .count = 1};
        return coll_allgather(team, (struct buffer){(char *)own, &offer, 1}, &blocks, false) ==
               COLL_OK;
    }
    return host.Allgather(own, sizeof *own, MPI_BYTE, all, sizeof *all, MPI_BYTE, r->comm) ==
           MPI_SUCCESS;
}

/* A window of one rank. */
static enum reason settle_alone(enum reason reason, struct new_window *new)
{
    if (reason == REASON_NONE && !win_settle_alone(new->win))
        reason = REASON_NO_MEMORY;
    if (reason != REASON_NONE)
        win_free(new->win);
    return reason;
}

/* Collective: exchange offers, and make the window if all ranks can. A rank that cannot takes part
 * all the same, since the others wait for its offer, which declines. Nothing after the exchange
 * needs memory. */
static enum reason settle_together(const struct window_request *r, const struct comm_properties *s,
                                   enum reason reason, struct new_window *new)
{
    enum { FEW = 512 }; /* an array for all that a window may have would count for `ulimit -d` */
    static struct win_offer unread[FEW]; /* in place of `all` */
    struct win_offer own, *all = malloc((size_t)s->size * sizeof *all);
    if (!all && s->size > FEW)
        abort_without_memory("a window");
    if (!all && reason == REASON_NONE)
        reason = REASON_NO_MEMORY;
    win_offer(new->win, base_of(r, new), r->size > 0 ? (size_t)r->size : 0, r->unit, reason, &own);
    if (!exchange(r, &own, all ? all : unread))
        reason = REASON_NO_MEMORY;
    else if (all && new->win)
        reason = win_settle(new->win, all);
    free(all);
    if (reason != REASON_NONE)
        win_discard_prepared(new->win, &own);
    return reason;
}

/* REASON_NONE and a fast window, or why there is none. `result`: an error that the host has
 * reported. */
static enum reason create_fast(const struct window_request *r, struct new_window *new, int *result)
{
    struct comm_properties s = {0};
    enum reason reason = config.rma ? comm_properties_of(r->comm, WIN_RANKS_MAX, &s) : REASON_OFF;
    *result = s.error;
    if (reason != REASON_NONE)
        return reason;
    reason = allocate(r, &s, new);
    reason = s.size == 1 ? settle_alone(reason, new) : settle_together(r, &s, reason, new);
    if (reason != REASON_NONE)
        discard_parts(new);
    return reason;
}

enum reason window_create(const struct window_request *r, void *baseptr, MPI_Win *win, int *result)
{
    struct new_window new = {0};
    win_free_lingering();
    enum reason reason = create_fast(r, &new, result);
    if (*result != MPI_SUCCESS)
        return REASON_NONE;
    if (reason != REASON_NONE)
        return reason;
    void *base = base_of(r, &new);
    *result = create_host_window(r, base, win);
    if (*result != MPI_SUCCESS) {
        win_discard_settled(new.win);
        discard_parts(&new);
        return REASON_NONE;
    }
    win_open(new.win, BITS(*win), new.memory, base, (size_t)r->size, r->unit);
    if (baseptr)
        *(void **)baseptr = new.memory;
    register_window(new.entry, *win, new.win, r->comm, r->call,
                    (struct window_detail){.reason = REASON_NONE,
                                           .allocated = r->flavor == MPI_WIN_FLAVOR_ALLOCATE});
    return REASON_NONE;
}

/* ---- freeing ---- */

int window_free(MPI_Win *win)
{
    struct entry *e = win ? registry_find(&window_registry, BITS(*win)) : NULL;
    if (!e)
        return host.Win_free(win);
    struct win *fast = e->object;
    if (fast && !win_idle(fast))
        return report_win_error(*win, WIN_ERR_SYNC);
    uintptr_t handle = BITS(*win);
    registry_begin_removal(&window_registry, handle);
    int result = host.Win_free(win);
    if (result != MPI_SUCCESS) {
        registry_cancel_removal(&window_registry, handle);
        return result;
    }
    registry_end_removal(&window_registry, handle);
    /* No barrier is needed. The host's MPI_Win_free returns only after all ranks have called it,
     * and so have completed their passive target epochs. With the info key no_locks it may return
     * earlier (MPI-4.0, 12.2.5), but then a call of the target has completed every operation. */
    if (fast)
        win_depart(fast);
    win_free(fast);
    return result;
}

void window_freed(MPI_Win win)
{
    if (registry_is_removing(&window_registry, BITS(win)))
        return;
    struct win *fast = registry_remove(&window_registry, BITS(win));
    if (fast)
        win_linger(fast);
}
