#include "pmpi_wrap/abi/windows/window_setup.h"

#include "alloc/arena.h"
#include "coll_inplace/coll.h"
#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/abi/communicators/properties.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/memory/alignment.h"
#include "pmpi_wrap/abi/memory/gpu_runtime.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/window.h"

#include <stdlib.h>

/* ---- registering ---- */

/* `fast` is NULL for a window that is left to the host; then `detail` has the reason. */
static void register_window(MPI_Win win, struct win *fast, MPI_Comm comm, enum call call,
                            struct window_detail detail)
{
    int ranks = 0;
    host.Comm_size(comm, &ranks);
    detail.ranks = ranks < UINT16_MAX ? (uint16_t)ranks : UINT16_MAX;
    if (fast)
        fast->handle = BITS(win);
    registry_add(&window_registry, BITS(win), fast, window_pack(detail));
    uint64_t count = stats_window(fast, (enum reason)detail.reason);
    if (fast)
        log_message(3, "%s: a fast window of %d ranks", call_names[call], ranks);
    else if (count == 1)
        log_message(2, "%s: a window is left to the host: %s; %s", call_names[call],
                    stats_reasons[detail.reason], stats_advice[detail.reason]);
}

int window_deferred(int result, MPI_Win *win, MPI_Comm comm, enum call call, enum reason reason)
{
    if (result == MPI_SUCCESS)
        register_window(*win, NULL, comm, call, (struct window_detail){.reason = (uint8_t)reason});
    return result;
}

/* ---- creating ---- */

/* Open MPI 4.1 may refuse MPI_Win_create on a communicator of one process, depending on its
 * components (https://github.com/open-mpi/ompi/issues/10726). */
static bool host_refuses_one_rank(void)
{
    static int refuses = -1;
    MPI_Win win;
    if (refuses < 0) {
        refuses = host.Win_create(NULL, 0, 1, MPI_INFO_NULL, private_comm(), &win) != MPI_SUCCESS;
        if (!refuses)
            host.Win_free(&win);
    }
    return refuses;
}

/* Create the host's window below a fast one, which keeps its attributes, group, name, info and
 * error handler. */
static int create_host_window(const struct window_request *r, void *base, MPI_Win *win)
{
    int size;
    void *unused;
    host.Comm_size(r->comm, &size);
    enter_host();
    bool stand_in = size == 1 && host_refuses_one_rank();
    int result = stand_in ? host.Win_allocate(0, 1, r->info, r->comm, &unused, win)
                          : host.Win_create(base, r->size, (int)r->unit, r->info, r->comm, win);
    leave_host();
    return result;
}

/* This rank's reason against a fast window, which goes into the exchange; or REASON_COUNT. */
static enum reason local_reason(const struct window_request *r)
{
    if (r->size < 0 || r->unit <= 0 || r->unit > INT32_MAX)
        return REASON_ARGUMENTS;
    return gpu_runtime_loaded() ? REASON_GPU : REASON_COUNT;
}

/* The exchange goes through the communicator's team if it has one. All ranks find the same, because
 * they make this call and those that set up a team in the same order. */
static bool exchange(const struct window_request *r, struct win_offer *own, struct win_offer *all)
{
    struct team *team = team_if_ready(r->comm);
    if (team) {
        struct run run;
        struct typemap offer = typemap_of_bytes(&run, sizeof *own);
        struct blocks blocks = {.at = (char *)all, .map = &offer, .count = 1};
        return coll_allgather(team, (struct buffer){(char *)own, &offer, 1}, &blocks, false) ==
               COLL_OK;
    }
    enter_host();
    int result = host.Allgather(own, sizeof *own, MPI_BYTE, all, sizeof *all, MPI_BYTE, r->comm);
    leave_host();
    return result == MPI_SUCCESS;
}

/* A window of one rank. */
static enum reason settle_alone(const struct window_request *r, void *base, struct win **made)
{
    enum reason reason = local_reason(r);
    if (reason == REASON_COUNT && !base && r->flavor == MPI_WIN_FLAVOR_ALLOCATE)
        reason = REASON_NO_MEMORY;
    struct win *win = reason == REASON_COUNT ? win_prepare(1, 0) : NULL;
    if (win && win_settle_alone(win, base, (size_t)r->size, r->unit)) {
        *made = win;
        return REASON_COUNT;
    }
    win_free(win);
    return reason == REASON_COUNT ? REASON_NO_MEMORY : reason;
}

/* Collective: exchange offers, and make the window if all ranks can. */
static enum reason settle_together(const struct window_request *r, const struct comm_properties *s,
                                   void *base, struct win **made)
{
    enum reason reason = local_reason(r);
    if (reason == REASON_COUNT && !base && r->flavor == MPI_WIN_FLAVOR_ALLOCATE)
        reason = REASON_NO_MEMORY;
    struct win *win = win_prepare((uint32_t)s->size, (uint32_t)s->rank);
    struct win_offer own, *all = malloc((size_t)s->size * sizeof *all);
    win_offer(win, base, r->size > 0 ? (size_t)r->size : 0, r->unit, reason, &own);
    if (!all || !exchange(r, &own, all))
        reason = REASON_NO_MEMORY;
    else
        reason = win_settle(win, all);
    free(all);
    if (reason == REASON_COUNT)
        *made = win;
    else
        win_discard_prepared(win, &own);
    return reason;
}

/* REASON_COUNT and a fast window, or why there is none. `memory`: allocated for
 * MPI_Win_allocate. */
static enum reason create_fast(const struct window_request *r, void **memory, struct win **made)
{
    struct comm_properties s = {0};
    enum reason reason = config.rma ? comm_properties_of(r->comm, WIN_RANKS_MAX, &s) : REASON_OFF;
    if (reason == REASON_COUNT) {
        void *base = r->base;
        if (r->flavor == MPI_WIN_FLAVOR_ALLOCATE && r->size >= 0)
            base = *memory = arena_alloc((size_t)r->size, alignment_of(r->info));
        reason = s.size == 1 ? settle_alone(r, base, made) : settle_together(r, &s, base, made);
        if (reason != REASON_COUNT && *memory)
            arena_free(*memory);
    }
    return reason;
}

enum reason window_create(const struct window_request *r, void *baseptr, MPI_Win *win, int *result)
{
    struct win *fast = NULL;
    void *memory = NULL;
    enum reason reason = create_fast(r, &memory, &fast);
    if (reason != REASON_COUNT)
        return reason;
    void *base = memory ? memory : r->base;
    *result = create_host_window(r, base, win);
    if (*result != MPI_SUCCESS) {
        win_discard_settled(fast);
        if (memory)
            arena_free(memory);
        return REASON_COUNT;
    }
    fast->memory = memory;
    fast->self.base = base;
    fast->self.size = (size_t)r->size;
    fast->self.unit = r->unit;
    fast->self_unit = (int)r->unit;
    if (baseptr)
        *(void **)baseptr = memory;
    register_window(*win, fast, r->comm, r->call,
                    (struct window_detail){.reason = REASON_COUNT,
                                           .allocated = r->flavor == MPI_WIN_FLAVOR_ALLOCATE});
    return REASON_COUNT;
}

/* ---- freeing ---- */

int window_free(MPI_Win *win)
{
    struct entry *e = win ? registry_find(&window_registry, BITS(*win)) : NULL;
    if (!e)
        return host.Win_free(win);
    uintptr_t handle = BITS(*win);
    uint32_t detail = e->detail;
    struct win *fast = e->object;
    if (fast && !win_idle(fast))
        return report_win_error(*win, WIN_ERR_SYNC);
    /* No barrier is needed. The host's MPI_Win_free returns only after all ranks have called it,
     * and so have completed their passive target epochs. With the info key no_locks it may return
     * earlier (MPI-4.0, 12.2.5), but then a call of the target has completed every operation. */
    if (fast)
        win_depart(fast);
    /* The window is unregistered before the host frees it, because the host may then give the same
     * handle to another thread's window at once. */
    registry_remove(&window_registry, handle);
    enter_host();
    int result = host.Win_free(win);
    leave_host();
    if (result == MPI_SUCCESS)
        win_free(fast);
    else
        registry_add(&window_registry, handle, fast, detail);
    return result;
}
