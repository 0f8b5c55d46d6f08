#include "pmpi_wrap/recording.h"

#include "alloc/arena.h"
#include "alloc/node.h"

#include <pthread.h>

/* ---- traffic ---- */

/* Bytes by member, in the control part, where the rank that prints the statistics reads them. NULL:
 * there are none, or there was no room. */
static _Atomic uint64_t *traffic;

static void allocate_traffic(void)
{
    traffic = arena_control_alloc(node.size * sizeof *traffic);
}

void recording_traffic(int member, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (member < 0 || !node.header)
        return;
    pthread_once(&once, allocate_traffic);
    if (traffic)
        counter_add(&traffic[member], bytes);
}

uint64_t recording_bytes(uint32_t from, uint32_t to)
{
    uint64_t position = node_member(from)->stats.traffic;
    return position ? ((const _Atomic uint64_t *)(node.base + position))[to] : 0;
}

/* ---- the heap ---- */

static pthread_mutex_t heap_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct timeline heap;
static _Atomic uint64_t heap_recorded = UINT64_MAX; /* the last value in it */

/* In a child of fork, the mutex may have stayed locked, and no rank reads what would be recorded.
 */
static void record_heap(uint64_t live)
{
    if (node.forked)
        return;
    pthread_mutex_lock(&heap_mutex);
    timeline_set(&heap, sync_now_ns(), live);
    atomic_store_explicit(&heap_recorded, live, memory_order_relaxed);
    pthread_mutex_unlock(&heap_mutex);
}

/* ---- calls ---- */

struct recording recording_begin(enum call call)
{
    const struct stats_counts *counts = &thread_self()->stats;
    return (struct recording){counts->fast[call], counts->bytes[call]};
}

struct recording recording_end(enum call call, struct recording before)
{
    struct recording now = recording_begin(call);
    uint64_t live = arena_use().live;
    if (live != atomic_load_explicit(&heap_recorded, memory_order_relaxed))
        record_heap(live);
    if (now.fast <= before.fast) /* deferred; or MPI_Finalize has folded the counters */
        return (struct recording){0};
    struct recording change = {now.fast - before.fast, now.bytes - before.bytes};
    stats_sizes(call, change.fast, change.bytes);
    return change;
}

void recording_publish(struct stats_snapshot *snapshot)
{
    uint64_t position;
    if (heap.interval)
        record_heap(arena_use().live);
    snapshot->heap = heap;
    snapshot->traffic =
        traffic && node_position((const void *)traffic, 1, &position) ? position : 0;
}
