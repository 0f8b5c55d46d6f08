#include "pmpi_wrap/abi/windows/window_setup.h"

#include "alloc/arena.h"
#include "coll_inplace/coll.h"
#include "core/config.h"
#include "core/log.h"
#include "node/memfd.h"
#include "node/node.h"
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/communicators/properties.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/memory/alignment.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/dynamic_window.h"
#include "pmpi_wrap/abi/windows/host_window.h"
#include "pmpi_wrap/abi/windows/window.h"
#include "pmpi_wrap/quirks.h"
#include "rma_shm/kept.h"
#include "rma_shm/sync_passive.h"

#include <assert.h>
#include <stdlib.h>

/* ---- registering ---- */

/* Register a window. `fast` is NULL for a window that is left to the host; then `detail` has the
 * reason, and `entry` may be NULL: the host does all operations on a window that is not registered.
 * If the program frees such a window past this library, its entry remains until the handle comes
 * back. */
static void register_window(struct entry *entry, MPI_Win win, struct win *fast, int ranks,
                            enum call call, struct window_detail detail)
{
    detail.ranks = ranks < UINT16_MAX ? (uint16_t)ranks : UINT16_MAX;
    if (fast)
        fast->handle = BITS(win);
    if (entry) {
        registry_remove(&window_registry, BITS(win)); /* it was freed past this library */
        registry_put(&window_registry, entry, BITS(win), fast, window_pack(detail));
    }
    uint64_t count = stats_window(fast, (enum reason)detail.reason);
    if (fast)
        log_message(3, "%s: an accelerated window of %d ranks", call_names[call], ranks);
    else if (count == 1)
        log_message(2, "%s: a window is left to the host: %s; %s", call_names[call],
                    stats_reasons[detail.reason], stats_advice[detail.reason]);
}

int window_deferred(struct window_request *r, int result, enum reason reason)
{
    host_window_created();
    if (result != MPI_SUCCESS)
        return result;
    if (!r->ranks)
        host.Comm_size(r->comm, &r->ranks);
    register_window(registry_new_entry(&window_registry), *r->win, NULL, r->ranks, r->call,
                    (struct window_detail){.reason = (uint8_t)reason});
    return MPI_SUCCESS;
}

/* ---- creating ---- */

/* All that this rank allocates for a fast window. */
struct new_window {
    struct win *win;
    struct entry *entry; /* of the registry */
    void *memory; /* of MPI_Win_allocate; of all ranks of MPI_Win_allocate_shared, on rank 0 */
    size_t memory_size;
    void *base; /* of this rank's part of the window */
    struct host_window_choice below;
};

/* If the info handle is 0, creating the host's window reports that to the communicator's error
 * handler. */
size_t window_alignment(const struct window_request *r)
{
    int ignored;
    return BITS(r->info) ? alignment_of(r->info, &ignored) : ARENA_GRAIN;
}

/* The hosts' memory of windows is new, and programs rely on its zeroes: the caller clears what the
 * program will use of it. */
static enum reason allocate_memory(struct new_window *new, size_t size, size_t align)
{
    new->memory = arena_alloc(size, align);
    new->memory_size = size;
    return new->memory ? REASON_NONE : REASON_NO_MEMORY;
}

/* Allocate whole pages, so that children of fork can go on sharing them. */
static enum reason allocate_block(const struct window_request *r, size_t size,
                                  struct new_window *new)
{
    size_t align = window_alignment(r);
    return allocate_memory(new, round_up(size ? size : 1, LAYOUT_PAGE),
                           align > LAYOUT_PAGE ? align : LAYOUT_PAGE);
}

static enum reason reason_against(const struct window_request *r, const struct comm_properties *s)
{
    bool existing = r->flavor == MPI_WIN_FLAVOR_CREATE && r->size;
    uint64_t unused;
    if (r->size < 0 || r->unit <= 0 || r->unit > INT32_MAX || !r->win || (existing && !r->base))
        return REASON_ARGUMENTS;
    if (gpu_memory_possible())
        return REASON_GPU;
    if (r->flavor == MPI_WIN_FLAVOR_DYNAMIC && !dynamic_window_can(r, s))
        return REASON_DYNAMIC;
    return existing && s->size > 1 && !node_position(r->base, (size_t)r->size, &unused)
               ? REASON_NOT_OUR_MEMORY
               : REASON_NONE;
}

/* Allocate what a fast window needs, except the common block of several ranks. Returns this rank's
 * reason against a fast window, or REASON_NONE. */
static enum reason allocate_window(const struct window_request *r, const struct comm_properties *s,
                                   struct new_window *new)
{
    enum reason against = reason_against(r, s);
    if (against != REASON_NONE)
        return against;
    new->win = win_prepare((uint32_t)s->size, (uint32_t)s->rank);
    new->entry = registry_new_entry(&window_registry);
    new->base = r->base;
    if (!new->win || !new->entry)
        return REASON_NO_MEMORY;
    if (r->flavor == MPI_WIN_FLAVOR_DYNAMIC && !win_make_dynamic(new->win))
        return REASON_NO_MEMORY;
    enum reason reason = REASON_NONE;
    if (r->flavor == MPI_WIN_FLAVOR_ALLOCATE)
        reason = allocate_memory(new, (size_t)r->size, window_alignment(r));
    else if (r->flavor == MPI_WIN_FLAVOR_SHARED && s->size == 1)
        reason = allocate_block(r, (size_t)r->size, new);
    if (new->memory)
        arena_clear(new->memory, (size_t)r->size);
    if (r->flavor != MPI_WIN_FLAVOR_CREATE)
        new->base = new->memory;
    return reason;
}

/* Free what the window structure does not own. */
static void discard_parts(struct new_window *new)
{
    registry_discard(&window_registry, new->entry);
    if (new->memory)
        arena_free(new->memory);
}

_Static_assert(offsetof(struct slot, data) + sizeof(struct win_offer) <= PREFETCH_LINE,
               "an offer and its flag are one cache line");

enum {
    OFFERS_FEW = 8, /* on the stack, which may be short */
    /* An array for all ranks that a window may have would count for `ulimit -d`. */
    OFFERS_UNREAD = 512,
};

static bool all_count(const struct win_offer *offers, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (!offers[r].counts)
            return false;
    return true;
}

/* Fill `all`, which has room for `ranks` offers. NULL: this rank has no memory, so it does not read
 * the offers. The exchange goes through the communicator's team if it has one. All ranks find a
 * team, or none does, because they make this call and the calls that set up a team in the same
 * order. */
static bool exchange_offers(MPI_Comm comm, int ranks, struct win_offer *own, struct win_offer *all)
{
    static struct win_offer unread[OFFERS_UNREAD];
    struct win_offer *offers = all ? all : unread;
    struct team *team = team_in_collective(comm);
    if (team) {
        coll_exchange(team, own, offers, sizeof *own);
        return true;
    }
    own->counts = all && team_can_count(comm);
    if (host.Allgather(own, sizeof *own, MPI_BYTE, offers, sizeof *own, MPI_BYTE, comm))
        return false;
    if (own->counts && all_count(offers, ranks))
        team_count(comm);
    return true;
}

/* ---- MPI_Win_allocate_shared ----
 *
 * The memory of all ranks is one block, which rank 0 allocates when it has received all sizes. */

/* The bytes that the part of a rank takes in the block. The next part begins right behind it, or at
 * a page of its own if the program allows that (MPI-4.0, 12.2.3). */
static uint64_t room_of_part(const struct win_offer *part, bool apart)
{
    return apart ? round_up(part->size, LAYOUT_PAGE) : part->size;
}

static bool wants_parts_apart(const struct window_request *r)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int flag = 0; /* creating the host's window reports an invalid handle */
    if (!BITS(r->info) || r->info == constants.info_null)
        return false;
    host.Info_get(r->info, "alloc_shared_noncontig", sizeof value - 1, value, &flag);
    return flag && (value[0] == 't' || value[0] == 'T' || value[0] == '1');
}

/* Compute the size of the block. False: it would not fit into a slice, or some rank declines. */
static bool size_of_block(const struct win_offer *parts, uint32_t ranks, bool apart, size_t *block)
{
    uint64_t size = 0;
    for (uint32_t r = 0; r < ranks; r++)
        if (parts[r].reason != REASON_NONE || parts[r].size > node.slice_size ||
            (size += room_of_part(&parts[r], apart)) > node.slice_size)
            return false;
    *block = size;
    return true;
}

/* Clear the parts, but not the gaps between them: pages that nobody touches take no memory. */
static void clear_parts(char *block, const struct win_offer *parts, uint32_t ranks, bool apart,
                        size_t size)
{
    if (!apart)
        arena_clear(block, size);
    for (uint32_t r = 0; apart && r < ranks; r++) {
        arena_clear(block, parts[r].size);
        block += room_of_part(&parts[r], apart);
    }
}

/* Exchange the sizes, and allocate the block if this is rank 0. `all` may be NULL if there is a
 * reason against the window; then `apart` remains as it is. `apart`: whether rank 0 asks for
 * parts on pages of their own. */
static enum reason allocate_shared_memory(const struct window_request *r,
                                          const struct comm_properties *s, enum reason reason,
                                          struct new_window *new, struct win_offer *all,
                                          bool *apart)
{
    struct win_offer own = {.reason = reason,
                            .size = r->size > 0 ? (uint64_t)r->size : 0,
                            .unit = wants_parts_apart(r)};
    if (!exchange_offers(r->comm, s->size, &own, all))
        return REASON_NO_MEMORY;
    if (all)
        *apart = all[0].unit != 0;
    if (s->rank || reason != REASON_NONE)
        return reason;
    size_t size;
    if (!size_of_block(all, (uint32_t)s->size, *apart, &size) ||
        allocate_block(r, size, new) != REASON_NONE)
        return REASON_NO_MEMORY;
    clear_parts(new->memory, all, (uint32_t)s->size, *apart, size);
    return REASON_NONE;
}

/* Compute the positions of all parts, now that the offer of rank 0 has the position of the
 * block. */
static void place_parts(struct win_offer *all, uint32_t ranks, bool apart)
{
    for (uint32_t r = 1; r < ranks; r++)
        all[r].position = all[r - 1].position + room_of_part(&all[r - 1], apart);
}

/* A part of size 0 has an address only if the host gives it one. */
static char *address_of_part(const struct win_offer *part, bool apart)
{
    bool has_address = part->size || (!apart && quirk(QUIRK_EMPTY_PARTS_HAVE_ADDRESSES));
    return has_address ? node.base + part->position : NULL;
}

/* ---- agreeing ---- */

/* A window of one rank. */
static enum reason settle_alone(const struct window_request *r, const struct comm_properties *s,
                                enum reason reason, struct new_window *new)
{
    struct win_offer own = {0};
    if (reason == REASON_NONE && !win_settle_alone(new->win))
        reason = REASON_NO_MEMORY;
    if (reason != REASON_NONE) {
        win_free(new->win);
        return reason;
    }
    host_window_offer(r, s, &own);
    new->below = host_window_choose(&own, 1);
    return REASON_NONE;
}

static void make_offer(const struct window_request *r, const struct new_window *new,
                       enum reason reason, struct win_offer *own)
{
    size_t size = r->size > 0 ? (size_t)r->size : 0;
    if (r->flavor == MPI_WIN_FLAVOR_SHARED)
        win_offer(new->win, new->memory, new->memory_size, r->unit, reason, own);
    else
        win_offer(new->win, new->base, size, r->unit, reason, own);
    own->size = size;
}

static enum reason settle_window(const struct window_request *r, const struct comm_properties *s,
                                 struct new_window *new, struct win_offer *all, bool apart)
{
    bool shared = r->flavor == MPI_WIN_FLAVOR_SHARED;
    if (shared)
        place_parts(all, (uint32_t)s->size, apart);
    enum reason reason = win_settle(new->win, all);
    if (!shared || reason != REASON_NONE)
        return reason;
    for (uint32_t rank = 0; rank < new->win->size; rank++)
        new->win->peer[rank].base = address_of_part(&all[rank], apart);
    new->base = new->win->peer[s->rank].base;
    return REASON_NONE;
}

/* One rank with a reason against the window decides for all, so it does not wait for the other
 * offers, except where the host's window must be created alone. The others read only the reason.
 * Returns whether the offer has been published. */
static bool decline_without_waiting(const struct window_request *r, const struct comm_properties *s,
                                    enum reason reason)
{
    struct team *team = team_in_collective(r->comm);
    if (!team || r->flavor == MPI_WIN_FLAVOR_SHARED || host_window_is_created_alone(s))
        return false;
    coll_contribute(team, &(struct win_offer){.reason = reason}, sizeof(struct win_offer));
    return true;
}

/* Exchange offers, and make the window if all ranks can. `all` has room for the offers. NULL: it is
 * out of memory, and `reason` is not REASON_NONE. Nothing after the exchange needs memory. */
static enum reason settle_offers(const struct window_request *r, const struct comm_properties *s,
                                 enum reason reason, struct new_window *new, struct win_offer *all)
{
    struct win_offer own;
    bool apart = false;
    if (r->flavor == MPI_WIN_FLAVOR_SHARED)
        reason = allocate_shared_memory(r, s, reason, new, all, &apart);
    make_offer(r, new, reason, &own);
    host_window_offer(r, s, &own);
    if (!exchange_offers(r->comm, s->size, &own, all))
        reason = REASON_NO_MEMORY;
    else if (all)
        reason =
            new->win ? settle_window(r, s, new, all, apart) : win_agree(all, (uint32_t)s->size);
    if (reason == REASON_NONE)
        new->below = host_window_choose(all, (uint32_t)s->size);
    if (!new->below.kept)
        host_window_withdraw(&own);
    if (reason != REASON_NONE)
        win_discard_prepared(new->win, &own);
    return reason;
}

/* Collective. A rank that cannot make the window publishes an offer all the same, because the
 * others wait for it. Its offer declines. */
static enum reason settle_together(const struct window_request *r, const struct comm_properties *s,
                                   enum reason reason, struct new_window *new)
{
    assert(s->size > 0);
    if (reason != REASON_NONE && decline_without_waiting(r, s, reason)) {
        win_free(new->win);
        return reason;
    }
    struct win_offer few[OFFERS_FEW], *all = few;
    if (s->size > OFFERS_FEW)
        all = malloc((size_t)s->size * sizeof *all);
    if (!all && s->size > OFFERS_UNREAD)
        abort_without_memory("a window");
    if (!all && reason == REASON_NONE)
        reason = REASON_NO_MEMORY;
    reason = settle_offers(r, s, reason, new, all);
    if (all != few)
        free(all);
    return reason;
}

/* Return what comm_properties_of() returns. Do not ask the host again if the communicator has a
 * team and an earlier window has stored its ranks. */
static enum reason properties_for_window(MPI_Comm comm, struct comm_properties *s)
{
    struct communicator *c = inside_host() ? NULL : team_find(comm);
    if (c && c->team && c->ranks) {
        *s = (struct comm_properties){
            .size = (int)c->team->group, .rank = (int)c->team->rank, .ranks = c->ranks};
        return REASON_NONE;
    }
    enum reason reason = comm_properties_of(comm, WIN_RANKS_MAX, s);
    if (reason == REASON_NONE && c && c->team)
        c->ranks = s->ranks;
    return reason;
}

/* REASON_NONE and a fast window, or why there is none. `result`: an error that the host has
 * reported. */
static enum reason create_fast(const struct window_request *r, struct comm_properties *s,
                               struct new_window *new, int *result)
{
    enum reason reason = config.rma ? properties_for_window(r->comm, s) : REASON_OFF;
    *result = s->error;
    if (reason != REASON_NONE)
        return reason;
    reason = allocate_window(r, s, new);
    reason = s->size == 1 ? settle_alone(r, s, reason, new) : settle_together(r, s, reason, new);
    if (reason != REASON_NONE) {
        discard_parts(new);
        host_window_create_alone(s);
    }
    return reason;
}

static bool is_lenient(const struct window_request *r)
{
    return quirk(QUIRK_UNCHECKED_EPOCHS) &&
           (r->flavor == MPI_WIN_FLAVOR_ALLOCATE || r->flavor == MPI_WIN_FLAVOR_SHARED);
}

static bool is_lenient_in_locks(const struct window_request *r)
{
    return quirk(QUIRK_LOCK_ADMITS_ALL) && r->flavor != MPI_WIN_FLAVOR_DYNAMIC;
}

enum reason window_create(struct window_request *r, void *baseptr, int *result)
{
    struct new_window new = {0};
    struct comm_properties s = {0};
    win_free_lingering();
    enum reason reason = create_fast(r, &s, &new, result);
    r->ranks = s.size;
    if (*result != MPI_SUCCESS)
        return REASON_NONE;
    if (reason != REASON_NONE)
        return reason;
    *result = host_window_get(r, &s, new.below, r->win, &new.win->below);
    if (*result != MPI_SUCCESS) {
        win_discard_settled(new.win);
        discard_parts(&new);
        return REASON_NONE;
    }
    win_open(new.win, BITS(*r->win), new.memory, new.base, (size_t)r->size, r->unit);
    new.win->lenient = is_lenient(r);
    new.win->lenient_in_locks = is_lenient_in_locks(r);
    if (r->flavor == MPI_WIN_FLAVOR_SHARED)
        win_share_with_children(new.win, new.memory_size);
    if (baseptr)
        *(void **)baseptr = new.base;
    register_window(new.entry, *r->win, new.win, r->ranks, r->call,
                    (struct window_detail){.reason = REASON_NONE,
                                           .flavor = (uint8_t)(r->flavor - MPI_WIN_FLAVOR_CREATE)});
    return REASON_NONE;
}

/* ---- freeing ---- */

/* Free the fast window only. All ranks have called MPI_Win_free. */
static int free_above(MPI_Win *win, struct win *fast)
{
    registry_remove(&window_registry, BITS(*win));
    host_window_keep(*win, fast);
    *win = MPI_WIN_NULL;
    win_free(fast);
    return MPI_SUCCESS;
}

/* Rank 0 has allocated the memory of a shared window, and may return its pages to the OS when the
 * window is freed. Before that, each other rank drops its own mapping of them: a library for RDMA
 * may still have these pages registered (H24: stale mappings). */
static void forget_pages_of_others(const struct win *win)
{
    char *begin = NULL, *end = NULL;
    if (!win->below.shared || !win->rank || node.ranks_here == node_world_size())
        return;
    for (uint32_t r = 0; r < win->size; r++) {
        const struct peer *p = &win->peer[r];
        if (!p->size)
            continue;
        begin = begin ? begin : p->base;
        end = p->base + p->size;
    }
    if (begin)
        memfd_forget_pages(begin, (size_t)(end - begin));
}

int window_free(MPI_Win *win)
{
    struct entry *e = win ? registry_find(&window_registry, BITS(*win)) : NULL;
    if (!e)
        return host.Win_free(win);
    struct win *fast = e->object;
    if (fast && !win_idle(fast)) {
        if (!fast->lenient)
            return report_win_error(*win, WIN_ERR_SYNC);
        win_release_locks(fast);
    }
    if (fast)
        forget_pages_of_others(fast);
    if (fast && host_window_may_keep(fast))
        return free_above(win, fast);
    if (fast)
        dynamic_window_close(fast, ALL_RANKS);
    uintptr_t handle = BITS(*win);
    registry_begin_removal(&window_registry, handle);
    if (!fast)
        spanning_complete(*win, ALL_RANKS);
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
    else
        spanning_window_close(HANDLE_OF(MPI_Win, handle), true);
    win_free(fast);
    return result;
}

void window_freed(MPI_Win win)
{
    if (registry_is_removing(&window_registry, BITS(win)))
        return;
    spanning_window_close(win, false);
    struct win *fast = registry_remove(&window_registry, BITS(win));
    if (!fast)
        return;
    forget_pages_of_others(fast);
    win_linger(fast);
    kept_close(); /* the program may free more, and other ranks need not wait for this one */
}
