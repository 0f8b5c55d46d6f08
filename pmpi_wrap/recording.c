#include "pmpi_wrap/recording.h"

#include "alloc/arena.h"
#include "node/node.h"
#include "pmpi_wrap/registry.h"

#include <pthread.h>
#include <stdlib.h>

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
static _Atomic uint64_t heap_recorded = UINT64_MAX; /* the last value in `heap` */

/* In a child of fork, the mutex may have stayed locked, and no rank reads what would be recorded.
 */
static void record_heap(uint64_t live)
{
    if (node.forked)
        return;
    pthread_mutex_lock(&heap_mutex);
    uint64_t now = sync_now_ns();
    if (!heap.interval)
        timeline_set(&heap, now - sync_elapsed_ns(), 0); /* empty since MPI_Init began */
    timeline_set(&heap, now, live);
    atomic_store_explicit(&heap_recorded, live, memory_order_relaxed);
    pthread_mutex_unlock(&heap_mutex);
}

/* ---- calls ---- */

/* The time of starting and ending MPI is not part of the program's: it is before and after the
 * time that the statistics cover. */
static bool is_timed(enum call call)
{
    switch (call) {
    case CALL_Init:
    case CALL_Init_thread:
    case CALL_Finalize:
    case CALL_Session_init:
    case CALL_Session_finalize:
        return false;
    default:
        return true;
    }
}

struct recording recording_begin(enum call call)
{
    struct thread *thread = thread_self();
    struct recording r = {
        .call = call, .fast = thread->stats.fast[call], .bytes = thread->stats.bytes[call]};
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    r.is_inner = frame < thread->recorded_frame;
    if (!r.is_inner)
        thread->recorded_frame = frame;
    r.waited = sync_waited_ticks();
    r.start = sync_ticks();
    return r;
}

static struct {
    void (*action)(void); /* NULL: none */
    uint64_t interval_ns;
    uint64_t last_ns; /* the mutex guards it, and is held during the action */
    pthread_mutex_t mutex;
} repeated = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void recording_repeat(void (*action)(void), uint64_t interval_ns)
{
    repeated.interval_ns = interval_ns;
    repeated.last_ns = sync_now_ns();
    repeated.action = action;
}

/* Only a thread itself can fold its counters while it uses them. A child of fork repeats nothing:
 * the snapshot in shared memory is its parent's. */
static COLD void repeat(struct thread *thread)
{
    uint64_t now = sync_now_ns();
    if (now - thread->repeated_ns < repeated.interval_ns || node.forked)
        return;
    thread->repeated_ns = now;
    stats_fold(&thread->stats);
    if (pthread_mutex_trylock(&repeated.mutex))
        return;
    if (now - repeated.last_ns >= repeated.interval_ns) {
        repeated.last_ns = now;
        repeated.action();
    }
    pthread_mutex_unlock(&repeated.mutex);
}

void recording_end(struct recording *r)
{
    uint64_t ticks = sync_ticks() - r->start;
    struct thread *thread = thread_self();
    uint64_t fast = thread->stats.fast[r->call], bytes = thread->stats.bytes[r->call];
    /* In MPI_Finalize, thread_fold_all() has cleared the counters, so they may be lower than before
     * the call. */
    r->bytes = fast > r->fast ? bytes - r->bytes : 0;
    r->fast = fast > r->fast ? fast - r->fast : 0;
    if (r->fast)
        stats_sizes(r->call, r->fast, r->bytes);
    uint64_t live = arena_use().live;
    if (live != atomic_load_explicit(&heap_recorded, memory_order_relaxed))
        record_heap(live);
    if (r->is_inner)
        return;
    thread->recorded_frame = 0;
    if (is_timed(r->call))
        stats_time(r->call, r->fast, ticks, sync_waited_ticks() - r->waited);
    if (UNLIKELY(repeated.action != NULL))
        repeat(thread);
}

void recording_defer(const struct recording *r, enum reason reason)
{
    if (!r->is_inner)
        stats_defer(r->call, reason);
}

void recording_host_data(const struct recording *r, uint64_t bytes)
{
    if (r->is_inner)
        return;
    stats_count(&stats_own.records[r->call].host_bytes, bytes);
    stats_sizes(r->call, 1, bytes);
}

void recording_message(const struct recording *r, struct recorded_message message)
{
    recording_host_data(r, message.bytes);
    struct stats_record *record = &stats_own.records[r->call];
    if (!r->is_inner && message.is_eager)
        stats_count(&record->eager_bytes, message.bytes);
    if (!r->is_inner && message.is_long) {
        stats_count(&record->long_bytes, message.bytes);
        stats_count(&record->private_bytes, message.is_private ? message.bytes : 0);
        stats_count(&record->unraised_bytes, message.is_unraised ? message.bytes : 0);
    }
}

/* ---- persistent requests ---- */

/* Objects are struct recorded_message. */
static struct registry requests = REGISTRY_INITIALIZER;

void recording_forget(uintptr_t request)
{
    free(registry_remove(&requests, request));
}

void recording_request(const struct recording *r, uintptr_t request,
                       struct recorded_message message)
{
    if (r->is_inner)
        return;
    recording_forget(request); /* the host may have freed one with this handle on its own */
    struct recorded_message *own = malloc(sizeof *own);
    if (!own)
        return;
    *own = message;
    if (!registry_add(&requests, request, own, 0))
        free(own);
}

bool recording_started(const struct recording *r, uintptr_t request)
{
    const struct entry *e = registry_find(&requests, request);
    if (e)
        recording_message(r, *(const struct recorded_message *)e->object);
    return e;
}

static bool forget_object(const struct entry *e)
{
    free(e->object);
    return true;
}

void recording_publish(struct stats_snapshot *snapshot)
{
    uint64_t position;
    if (heap.interval)
        record_heap(arena_use().live);
    pthread_mutex_lock(&heap_mutex);
    snapshot->heap = heap;
    pthread_mutex_unlock(&heap_mutex);
    snapshot->traffic =
        traffic && node_position((const void *)traffic, 1, &position) ? position : 0;
}

void recording_close(void)
{
    repeated.action = NULL;
    registry_forget(&requests, forget_object);
}
