#include "pmpi_wrap/abi/nodes/spanning_window.h"

#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/nodes/agreement.h"
#include "pmpi_wrap/registry.h"

#include <stdlib.h>

static struct registry spanning_registry = REGISTRY_INITIALIZER;

struct spanning_window *spanning_window_of(MPI_Win win)
{
    struct entry *e = registry_find(&spanning_registry, BITS(win));
    return e ? e->object : NULL;
}

/* ---- creating ---- */

/* Where the memory of a rank is. */
struct place_of_memory {
    uint64_t position; /* in the shared file of its node */
    uint64_t size;     /* 0: it is not shared, or there is none */
    int64_t unit;
    int64_t node; /* the node leader of the rank */
};

static struct place_of_memory find_own_memory(const struct window_request *r)
{
    struct place_of_memory own = {.unit = r->unit, .node = node_leader()};
    if (r->base && r->size > 0 && r->unit > 0 && !gpu_memory_possible() &&
        node_position(r->base, (size_t)r->size, &own.position))
        own.size = (uint64_t)r->size;
    return own;
}

static bool is_near(const struct place_of_memory *place)
{
    return place->size && place->node == node_leader();
}

static uint32_t count_near(const struct place_of_memory *all, uint32_t size)
{
    uint32_t number = 0;
    for (uint32_t r = 0; r < size; r++)
        number += is_near(&all[r]);
    return number;
}

static struct spanning_window *allocate(uint32_t size, uint32_t peers)
{
    struct spanning_window *s = malloc(sizeof *s + size * sizeof *s->near);
    if (!s)
        return NULL;
    *s = (struct spanning_window){
        .size = size, .node = win_prepare(peers, 0), .target = calloc(peers, sizeof *s->target)};
    if (s->node && s->target)
        return s;
    free(s->node);
    free(s->target);
    free(s);
    return NULL;
}

static struct spanning_window *connect(const struct place_of_memory *all, uint32_t size)
{
    uint32_t peers = count_near(all, size), next = 0;
    struct spanning_window *s = peers && peers <= UINT16_MAX ? allocate(size, peers) : NULL;
    if (!s)
        return NULL;
    for (uint32_t r = 0; r < size; r++) {
        s->near[r] = 0;
        if (!is_near(&all[r]))
            continue;
        s->node->peer[next] = (struct peer){
            .base = node.base + all[r].position, .size = all[r].size, .unit = all[r].unit};
        s->near[r] = (uint16_t)++next;
    }
    log_message(3, "a window of %u ranks spans nodes: put and get on %u of them are accelerated",
                size, peers);
    return s;
}

/* Every rank takes part in the exchange, also one that cannot use the result. */
struct spanning_window *spanning_window_prepare(const struct window_request *r, enum reason reason)
{
    struct spanning_window *s = NULL;
    int size;
    if (reason != REASON_ONE_NODE_ONLY || nodes_why_not() != REASON_NONE)
        return NULL;
    host.Comm_size(r->comm, &size);
    struct place_of_memory own = find_own_memory(r), *all = malloc((size_t)size * sizeof *all);
    if (!all)
        abort_without_memory("a window that spans nodes");
    int result = host.Allgather(&own, sizeof own, MPI_BYTE, all, sizeof *all, MPI_BYTE, r->comm);
    if (result == MPI_SUCCESS && !thread_concurrent && !gpu_memory_possible())
        s = connect(all, (uint32_t)size);
    free(all);
    return s;
}

static void free_window(struct spanning_window *s)
{
    if (!s)
        return;
    free(s->node);
    free(s->target);
    free(s);
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
    if (!s)
        return;
    if (result == MPI_SUCCESS)
        spanning_window_close(*win); /* it was freed past this library */
    if (result != MPI_SUCCESS || !is_unified(*win) ||
        !registry_add(&spanning_registry, BITS(*win), s, 0))
        free_window(s);
    else
        free_notice_win(*win);
}

void spanning_window_close(MPI_Win win)
{
    struct spanning_window *s = registry_remove(&spanning_registry, BITS(win));
    if (s)
        win_complete_operations(s->node);
    free_window(s);
}

static bool forget_window(const struct entry *e)
{
    free_window(e->object);
    return true;
}

void spanning_windows_forget(void)
{
    registry_forget(&spanning_registry, forget_window);
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

int spanning_flushed(MPI_Win win, int rank, int result)
{
    struct spanning_window *s = spanning_window_of(win);
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
