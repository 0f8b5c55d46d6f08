#include "pmpi_wrap/abi/nodes/spanning_window.h"

#include "alloc/arena.h"
#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/nodes/agreement.h"
#include "pmpi_wrap/host_identity.h"

#include <stdlib.h>
#include <string.h>

static struct registry spanning_registry = REGISTRY_INITIALIZER;
static bool used; /* there has been a window: most jobs have none, and need not search for it */

struct spanning_window *spanning_window_of(MPI_Win win)
{
    if (LIKELY(!used))
        return NULL;
    struct entry *e = registry_find(&spanning_registry, BITS(win));
    return e ? e->object : NULL;
}

/* ---- creating ---- */

/* Where the memory of a rank is. */
struct place_of_memory {
    uint64_t position; /* in the shared file of its node */
    uint64_t size;     /* 0: it is not shared, or there is none */
    int64_t unit;
    int32_t node;     /* the node leader of the rank */
    int32_t declines; /* MPI_Win_allocate: the host has to allocate the memory */
};

/* Whether this rank can use such a window. */
static bool is_usable(void)
{
    return !thread_concurrent && !gpu_memory_possible();
}

static void free_window(struct spanning_window *s)
{
    if (!s)
        return;
    registry_discard(&spanning_registry, s->entry);
    if (s->memory)
        arena_free(s->memory);
    free(s->node);
    free(s->target);
    free(s);
}

/* `peers`: the most that there may be. */
static struct spanning_window *allocate_spanning(uint32_t size, uint32_t peers)
{
    struct spanning_window *s = malloc(sizeof *s + size * sizeof *s->near);
    if (!s)
        return NULL;
    *s = (struct spanning_window){.size = size,
                                  .node = win_prepare(peers, 0),
                                  .target = calloc(peers, sizeof *s->target),
                                  .entry = registry_new_entry(&spanning_registry)};
    if (s->node && s->target && s->entry)
        return s;
    free_window(s);
    return NULL;
}

static struct place_of_memory place_of(const struct window_request *r, const void *base)
{
    struct place_of_memory own = {.unit = r->unit, .node = node_leader()};
    if (base && r->size > 0 && r->unit > 0 && !gpu_memory_possible() &&
        node_position(base, (size_t)r->size, &own.position))
        own.size = (uint64_t)r->size;
    return own;
}

/* Find the ranks of this node whose memory is shared. False: the host has to allocate memory. */
static bool connect(struct spanning_window *s, const struct place_of_memory *all)
{
    uint32_t peers = 0;
    for (uint32_t r = 0; r < s->size; r++) {
        const struct place_of_memory *at = &all[r];
        s->near[r] = 0;
        if (at->declines)
            return false;
        if (!at->size || at->node != node_leader() || peers == UINT16_MAX)
            continue;
        s->node->peer[peers] =
            (struct peer){.base = node.base + at->position, .size = at->size, .unit = at->unit};
        s->target[peers].rank = (int)r;
        s->near[r] = (uint16_t)++peers;
    }
    s->node->size = peers;
    return true;
}

/* Exchange the places. Every rank takes part, also one that cannot use the result: `s` is NULL
 * there. False: the host has to allocate memory. */
static bool exchange_places(struct spanning_window *s, const struct place_of_memory *own,
                            uint32_t size, MPI_Comm comm)
{
    struct place_of_memory *all = malloc(size * sizeof *all);
    if (!all)
        abort_without_memory("a window that spans nodes");
    bool connected = host.Allgather(own, sizeof *own, MPI_BYTE, all, sizeof *all, MPI_BYTE, comm) ==
                         MPI_SUCCESS &&
                     s && connect(s, all);
    free(all);
    return connected;
}

static struct spanning_window *prepare(const struct window_request *r, bool allocates)
{
    int size;
    host.Comm_size(r->comm, &size);
    uint32_t ranks = (uint32_t)size, peers = ranks < node.size ? ranks : node.size;
    struct spanning_window *s = is_usable() ? allocate_spanning(ranks, peers) : NULL;
    if (allocates && s && r->size >= 0)
        s->memory = arena_alloc((size_t)r->size, window_alignment(r));
    struct place_of_memory own = place_of(r, allocates && s ? s->memory : r->base);
    own.declines = allocates && !(s && s->memory);
    bool connected = exchange_places(s, &own, ranks, r->comm);
    if (!s || !connected) {
        free_window(s);
        return NULL;
    }
    if (s->memory)
        arena_clear(s->memory, (size_t)r->size);
    log_message(3, "%s: of %u ranks on several nodes, put and get on %u are accelerated",
                call_names[r->call], ranks, s->node->size);
    return s;
}

static bool may_span(enum reason reason)
{
    return reason == REASON_ONE_NODE_ONLY && nodes_why_not() == REASON_NONE;
}

struct spanning_window *spanning_window_prepare(const struct window_request *r, enum reason reason)
{
    return may_span(reason) ? prepare(r, false) : NULL;
}

/* MPICH over UCX sends messages also inside a node. Other hosts may share the memory that they
 * allocate between the ranks of a node themselves, and use it for accumulates, too. */
struct spanning_window *spanning_window_allocate(const struct window_request *r, enum reason reason)
{
    bool host_shares = strcmp(host_identity.device, "ch4:ucx") != 0;
    return !host_shares && may_span(reason) ? prepare(r, true) : NULL;
}

/* Operations of the host and loads and stores then access the same memory. */
static bool is_unified(MPI_Win win)
{
    int *model, found;
    return host.Win_get_attr(win, MPI_WIN_MODEL, &model, &found) == MPI_SUCCESS && found &&
           *model == MPI_WIN_UNIFIED;
}

void spanning_window_open(struct spanning_window *s, const MPI_Win *win, int result)
{
    if (s && result != MPI_SUCCESS)
        free_window(s);
    if (!s || result != MPI_SUCCESS)
        return;
    spanning_window_close(*win, false); /* it was freed past this library */
    if (!is_unified(*win))
        memset(s->near, 0, s->size * sizeof *s->near);
    registry_put(&spanning_registry, s->entry, BITS(*win), s, 0);
    s->entry = NULL;
    used = true;
    free_notice_win(*win);
}

void spanning_window_close(MPI_Win win, bool all_done)
{
    struct spanning_window *s = registry_remove(&spanning_registry, BITS(win));
    if (s && !all_done)
        s->memory = NULL;
    free_window(s);
}

/* Other ranks may still access the memory. */
static bool forget_spanning(const struct entry *e)
{
    struct spanning_window *s = e->object;
    s->memory = NULL;
    free_window(s);
    return true;
}

void spanning_windows_forget(void)
{
    registry_forget(&spanning_registry, forget_spanning);
}

/* ---- operations ---- */

int spanning_peer(const struct spanning_window *s, int rank)
{
    return rank >= 0 && (uint32_t)rank < s->size ? s->near[rank] - 1 : -1;
}

static bool is_open(const struct spanning_window *s, int peer)
{
    return s->node->peer[peer].stamp == s->node->stamp;
}

int spanning_open_peer(const struct spanning_window *s, int rank)
{
    int peer = spanning_peer(s, rank);
    return peer >= 0 && is_open(s, peer) ? peer : -1;
}

void spanning_left_to_host(MPI_Win win, int rank)
{
    struct spanning_window *s = spanning_window_of(win);
    if (!s)
        return;
    int peer = spanning_peer(s, rank);
    s->outstanding = true;
    if (peer >= 0)
        s->target[peer].outstanding = true;
}

int spanning_probed(MPI_Win win, int rank, int result)
{
    struct spanning_window *s = spanning_window_of(win);
    int peer = s && s->locks && result == MPI_SUCCESS ? spanning_peer(s, rank) : -1;
    if (peer >= 0)
        s->target[peer].probed = true;
    return result;
}

/* ---- synchronization ---- */

static void close_peer(struct spanning_window *s, int peer)
{
    s->node->peer[peer].stamp = 0;
    s->target[peer].probed = false;
    s->target[peer].locked = false;
}

static void close_peers(struct spanning_window *s, int rank)
{
    int peer = spanning_peer(s, rank);
    if (peer >= 0)
        close_peer(s, peer);
    for (uint32_t p = 0; rank == ALL_RANKS && p < s->node->size; p++)
        close_peer(s, (int)p);
}

int spanning_locked(MPI_Win win, int rank, int result)
{
    struct spanning_window *s = spanning_window_of(win);
    if (s && result == MPI_SUCCESS) {
        close_peers(s, rank);
        s->locks++;
        int peer = spanning_peer(s, rank);
        if (peer >= 0)
            s->target[peer].locked = true;
    }
    return result;
}

void spanning_unlock(MPI_Win win, int rank)
{
    struct spanning_window *s = spanning_window_of(win);
    if (!s)
        return;
    win_complete_operations(s->node);
    close_peers(s, rank);
}

int spanning_unlocked(MPI_Win win, int result)
{
    struct spanning_window *s = spanning_window_of(win);
    if (s && s->locks && result == MPI_SUCCESS)
        s->locks--;
    return result;
}

bool spanning_complete(MPI_Win win, int rank)
{
    struct spanning_window *s = spanning_window_of(win);
    if (!s)
        return false;
    win_complete_operations(s->node);
    if (rank == ALL_RANKS)
        return s->locks && !s->outstanding;
    int peer = spanning_open_peer(s, rank);
    return peer >= 0 && !s->target[peer].outstanding;
}

/* All operations on the peer are complete. So if the host has performed any, it holds the lock. */
static void flushed_peer(struct spanning_window *s, int peer)
{
    s->target[peer].outstanding = false;
    if (s->target[peer].probed)
        s->node->peer[peer].stamp = s->node->stamp;
}

/* Complete what the host's MPI_Win_flush_all may have left out. */
static int flush_locked(const struct spanning_window *s, MPI_Win win)
{
    int result = MPI_SUCCESS;
    for (uint32_t p = 0; p < s->node->size && result == MPI_SUCCESS; p++)
        if (s->target[p].locked && s->target[p].outstanding)
            result = host.Win_flush(s->target[p].rank, win);
    return result;
}

int spanning_flushed(MPI_Win win, int rank, int result)
{
    struct spanning_window *s = spanning_window_of(win);
    if (s && rank == ALL_RANKS && result == MPI_SUCCESS)
        result = flush_locked(s, win);
    if (!s || result != MPI_SUCCESS)
        return result;
    int peer = spanning_peer(s, rank);
    if (peer >= 0)
        flushed_peer(s, peer);
    for (uint32_t p = 0; rank == ALL_RANKS && p < s->node->size; p++)
        flushed_peer(s, (int)p);
    if (rank == ALL_RANKS)
        s->outstanding = false;
    return result;
}
