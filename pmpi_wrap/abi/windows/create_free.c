/* Windows: creating, freeing, attributes, errors (MPI-4.0, 12.2). */
#include "alloc/arena.h"
#include "coll_inplace/coll.h"
#include "core/config.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"

#include <stdlib.h>

struct registry windows = REGISTRY_INITIALIZER;

/* ---- errors ---- */

int report_class(MPI_Win win, int error_class)
{
    host.Win_call_errhandler(win, error_class);
    return error_class;
}

COLD int report(MPI_Win win, enum win_error error)
{
    static const int class_of[] = {
        [WIN_OK] = MPI_SUCCESS,
        [WIN_ERR_RANK] = MPI_ERR_RANK,
        [WIN_ERR_SYNC] = MPI_ERR_RMA_SYNC,
        [WIN_ERR_DISP] = MPI_ERR_DISP,
        [WIN_ERR_RANGE] = MPI_ERR_RMA_RANGE,
        [WIN_ERR_TYPE] = MPI_ERR_TYPE,
        [WIN_ERR_OP] = MPI_ERR_OP,
        [WIN_ERR_LENGTH] = MPI_ERR_TRUNCATE,
        [WIN_ERR_MEMORY] = MPI_ERR_NO_MEM,
    };
    return error == WIN_OK ? MPI_SUCCESS : report_class(win, class_of[error]);
}

COLD void deferred_on(enum call call, MPI_Win win)
{
    struct entry *e = registry_find(&windows, BITS(win));
    enum reason reason = e ? (enum reason)window_unpack(e->detail).reason : REASON_HOST_WINDOW;
    if (stats_defer(call, reason) == 1)
        log_message(2, "%s is left to the host, as its window is: %s", call_names[call],
                    stats_reasons[reason]);
}

/* ---- creating ---- */

/* What the program asked for. */
struct request {
    enum call call;
    int flavor;
    void *base; /* of MPI_Win_create */
    MPI_Aint size;
    MPI_Aint unit;
    MPI_Info info;
    MPI_Comm comm;
};

/* Remember a window; if it is the host's, why. */
static void register_window(MPI_Win win, struct win *fast, MPI_Comm comm, enum call call,
                            struct window_detail detail)
{
    int ranks = 0;
    host.Comm_size(comm, &ranks);
    detail.ranks = ranks < UINT16_MAX ? (uint16_t)ranks : UINT16_MAX;
    if (fast)
        fast->handle = BITS(win);
    registry_add(&windows, BITS(win), fast, window_pack(detail));
    uint64_t count = stats_window(fast, (enum reason)detail.reason);
    if (fast)
        log_message(3, "%s: a fast window of %d ranks", call_names[call], ranks);
    else if (count == 1)
        log_message(2, "%s: a window is left to the host: %s; %s", call_names[call],
                    stats_reasons[detail.reason], stats_advice[detail.reason]);
}

static int register_deferred(int result, MPI_Win *win, MPI_Comm comm, enum call call,
                             enum reason reason)
{
    if (result == MPI_SUCCESS)
        register_window(*win, NULL, comm, call, (struct window_detail){.reason = (uint8_t)reason});
    return result;
}

/* Open MPI 4.1 refuses MPI_Win_create on a communicator of one process. */
static bool host_refuses_alone(void)
{
    static int refuses = -1;
    MPI_Win win;
    if (refuses < 0) {
        refuses = host.Win_create(NULL, 0, 1, MPI_INFO_NULL, own_comm(), &win) != MPI_SUCCESS;
        if (!refuses)
            host.Win_free(&win);
    }
    return refuses;
}

/* The host's window below a fast one: attributes, group, name, info, error handler. */
static int create_below(const struct request *r, void *base, MPI_Win *win)
{
    int size;
    void *unused;
    host.Comm_size(r->comm, &size);
    enter_host();
    bool stand_in = size == 1 && host_refuses_alone();
    int result = stand_in ? host.Win_allocate(0, 1, r->info, r->comm, &unused, win)
                          : host.Win_create(base, r->size, (int)r->unit, r->info, r->comm, win);
    leave_host();
    return result;
}

/* The local part of the decision, which goes into the exchange. */
static enum reason local_reason(const struct request *r)
{
    if (r->size < 0 || r->unit <= 0 || r->unit > INT32_MAX)
        return REASON_ARGUMENTS;
    return gpu_runtime_loaded() ? REASON_GPU : REASON_COUNT;
}

/* Through the communicator's team if it has one: the same on all ranks, since this call and those
 * that make a team come in the same order on all of them. */
static bool exchange(const struct request *r, struct win_offer *mine, struct win_offer *all)
{
    struct entry *e = registry_find(&communicators, BITS(r->comm));
    struct team *team = e ? ((struct communicator *)e->object)->team : NULL;
    if (team) {
        struct run run;
        struct typemap offer = typemap_of_bytes(&run, sizeof *mine);
        struct blocks blocks = {.at = (char *)all, .map = &offer, .count = 1};
        return coll_allgather(team, (struct buffer){(char *)mine, &offer, 1}, &blocks, false) ==
               COLL_OK;
    }
    enter_host();
    int result = host.Allgather(mine, sizeof *mine, MPI_BYTE, all, sizeof *all, MPI_BYTE, r->comm);
    leave_host();
    return result == MPI_SUCCESS;
}

static enum reason settle_alone(const struct request *r, void *base, struct win **made)
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

/* Collective: agree with the other ranks, and make the window if all can. */
static enum reason settle_together(const struct request *r, const struct comm_properties *s,
                                   void *base, struct win **made)
{
    enum reason reason = local_reason(r);
    if (reason == REASON_COUNT && !base && r->flavor == MPI_WIN_FLAVOR_ALLOCATE)
        reason = REASON_NO_MEMORY;
    struct win *win = win_prepare((uint32_t)s->size, (uint32_t)s->rank);
    struct win_offer mine, *all = malloc((size_t)s->size * sizeof *all);
    win_offer(win, base, r->size > 0 ? (size_t)r->size : 0, r->unit, reason, &mine);
    if (!all || !exchange(r, &mine, all))
        reason = REASON_NO_MEMORY;
    else
        reason = win_settle(win, all);
    free(all);
    if (reason == REASON_COUNT)
        *made = win;
    else
        win_discard_prepared(win, &mine);
    return reason;
}

/* A fast window, or why not; `memory` is what MPI_Win_allocate gives. */
static enum reason create_fast(const struct request *r, void **memory, struct win **made)
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

/* Done, or left to the caller with the reason. */
static enum reason create(const struct request *r, void *baseptr, MPI_Win *win, int *result)
{
    struct win *fast = NULL;
    void *memory = NULL;
    enum reason reason = create_fast(r, &memory, &fast);
    if (reason != REASON_COUNT)
        return reason;
    void *base = memory ? memory : r->base;
    *result = create_below(r, base, win);
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
                    (struct window_detail){.reason = REASON_COUNT, .flavor = (uint8_t)r->flavor});
    return REASON_COUNT;
}

int accel_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                     MPI_Win *win)
{
    struct request r = {CALL_Win_create, MPI_WIN_FLAVOR_CREATE, base, size, unit, info, comm};
    int result;
    enum reason reason = create(&r, NULL, win, &result);
    if (reason == REASON_COUNT)
        return result;
    return register_deferred(host.Win_create(base, size, unit, info, comm, win), win, comm, r.call,
                             reason);
}

int accel_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                       MPI_Win *win)
{
    struct request r = {CALL_Win_allocate, MPI_WIN_FLAVOR_ALLOCATE, NULL, size, unit, info, comm};
    int result;
    enum reason reason = create(&r, baseptr, win, &result);
    if (reason == REASON_COUNT)
        return result;
    return register_deferred(host.Win_allocate(size, unit, info, comm, baseptr, win), win, comm,
                             r.call, reason);
}

int accel_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                              MPI_Win *win)
{
    return register_deferred(host.Win_allocate_shared(size, unit, info, comm, baseptr, win), win,
                             comm, CALL_Win_allocate_shared, REASON_SHARED);
}

int accel_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    return register_deferred(host.Win_create_dynamic(info, comm, win), win, comm,
                             CALL_Win_create_dynamic, REASON_DYNAMIC);
}

#if MPI_VERSION >= 4
int accel_Win_create_c(void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                       MPI_Win *win)
{
    struct request r = {CALL_Win_create_c, MPI_WIN_FLAVOR_CREATE, base, size, unit, info, comm};
    int result;
    enum reason reason = create(&r, NULL, win, &result);
    if (reason == REASON_COUNT)
        return result;
    return register_deferred(host.Win_create_c(base, size, unit, info, comm, win), win, comm,
                             r.call, reason);
}

int accel_Win_allocate_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                         MPI_Win *win)
{
    struct request r = {CALL_Win_allocate_c, MPI_WIN_FLAVOR_ALLOCATE, NULL, size, unit, info, comm};
    int result;
    enum reason reason = create(&r, baseptr, win, &result);
    if (reason == REASON_COUNT)
        return result;
    return register_deferred(host.Win_allocate_c(size, unit, info, comm, baseptr, win), win, comm,
                             r.call, reason);
}

int accel_Win_allocate_shared_c(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                                void *baseptr, MPI_Win *win)
{
    return register_deferred(host.Win_allocate_shared_c(size, unit, info, comm, baseptr, win), win,
                             comm, CALL_Win_allocate_shared_c, REASON_SHARED);
}
#endif

/* ---- freeing ---- */

int accel_Win_free(MPI_Win *win)
{
    struct entry *e = win ? registry_find(&windows, BITS(*win)) : NULL;
    if (!e)
        return host.Win_free(win);
    uintptr_t handle = BITS(*win);
    uint32_t detail = e->detail;
    struct win *fast = e->object;
    if (fast && !win_idle(fast))
        return report(*win, WIN_ERR_SYNC);
    /* No barrier is needed. The host's MPI_Win_free returns when all ranks have called it, and have
     * completed their passive target epochs before. Only with the info key no_locks it may return
     * earlier (MPI-4.0, 12.2.5), and then every operation was completed by a call of its target. */
    if (fast)
        win_depart(fast);
    /* Before the host does: it may give the handle to another thread's window at once. */
    registry_remove(&windows, handle);
    enter_host();
    int result = host.Win_free(win);
    leave_host();
    if (result == MPI_SUCCESS)
        win_free(fast);
    else
        registry_add(&windows, handle, fast, detail);
    return result;
}

/* ---- attributes ---- */

/* Base, size and unit are answered from here: the host's window below may have others. It may be a
 * stand-in, and MPICH 4.0 with UCX rounds the base down to where UCX registered the memory. */
bool window_attribute(MPI_Win win, int keyval, MPI_Aint *value)
{
    struct entry *e = registry_find(&windows, BITS(win));
    struct win *fast = e ? e->object : NULL;
    if (!fast)
        return false;
    if (keyval == MPI_WIN_CREATE_FLAVOR)
        *value = window_unpack(e->detail).flavor;
    else if (keyval == MPI_WIN_BASE)
        *value = (MPI_Aint)fast->self.base;
    else if (keyval == MPI_WIN_SIZE)
        *value = (MPI_Aint)fast->self.size;
    else if (keyval == MPI_WIN_DISP_UNIT)
        *value = fast->self.unit;
    else
        return false;
    return true;
}

/* In C the value of these attributes is an address: of the memory, or of where the number stands,
 * which must outlive the call. */
int accel_Win_get_attr(MPI_Win win, int keyval, void *attribute, int *flag)
{
    int result = host.Win_get_attr(win, keyval, attribute, flag);
    MPI_Aint value;
    if (result != MPI_SUCCESS || !*flag || !window_attribute(win, keyval, &value))
        return result;
    struct win *fast = fast_window(win);
    if (keyval == MPI_WIN_BASE)
        *(void **)attribute = (void *)value;
    else if (keyval == MPI_WIN_SIZE)
        *(void **)attribute = &fast->self.size;
    else if (keyval == MPI_WIN_DISP_UNIT)
        *(int **)attribute = &fast->self_unit;
    else {
        static int flavors[UINT8_MAX + 1];
        flavors[value] = (int)value;
        *(int **)attribute = &flavors[value];
    }
    return result;
}

/* ---- querying peers' memory ---- */

/* MPI-4.1 lets any window be asked; earlier hosts refuse what was not made with
 * MPI_Win_allocate_shared, and go on refusing. */
static bool answers_query(MPI_Win win, int rank, MPI_Aint *size, int64_t *unit, void *baseptr)
{
    struct win *fast = fast_window(win);
    int version, subversion;
    host.Get_version(&version, &subversion);
    if (!fast || version < 4 || (version == 4 && subversion < 1))
        return false;
    if (rank != MPI_PROC_NULL && (rank < 0 || (uint32_t)rank >= fast->size))
        return false;
    struct peer *peer = NULL;
    for (uint32_t r = 0; r < fast->size && !peer; r++)
        if (rank == MPI_PROC_NULL ? fast->peer[r].size > 0 : r == (uint32_t)rank)
            peer = &fast->peer[r];
    *size = peer ? (MPI_Aint)peer->size : 0;
    *unit = peer ? peer->unit : 0;
    *(void **)baseptr = peer ? peer->base : NULL;
    return true;
}

int accel_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *unit, void *baseptr)
{
    int64_t answer;
    if (!answers_query(win, rank, size, &answer, baseptr))
        return host.Win_shared_query(win, rank, size, unit, baseptr);
    *unit = (int)answer;
    return MPI_SUCCESS;
}

#if MPI_VERSION >= 4
int accel_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *unit, void *baseptr)
{
    int64_t answer;
    if (!answers_query(win, rank, size, &answer, baseptr))
        return host.Win_shared_query_c(win, rank, size, unit, baseptr);
    *unit = answer;
    return MPI_SUCCESS;
}
#endif
