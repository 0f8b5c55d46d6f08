#include "pmpi_wrap/abi/life_cycle/node_setup.h"

#include "alloc/arena.h"
#include "alloc/symmetric.h"
#include "core/config.h"
#include "core/log.h"
#include "node/node.h"
#include "node/rendezvous.h"
#include "node/statics.h"
#include "peer_copy/calibrate.h"
#include "peer_copy/copy_request.h"
#include "pmpi_wrap/abi/collectives/collectives.h"
#include "pmpi_wrap/abi/datatypes/reducers.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/eager_limit.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/process_vm_entry.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/refused_copies.h"
#include "pmpi_wrap/wait_policy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int world_rank, world_size;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool settled, handles_known;
static bool early_groups; /* of this rank; protected by the mutex */

static size_t heap_limit(void)
{
    return config.heap_size ? config.heap_size : SIZE_MAX;
}

/* ---- entering ---- */

/* Open the heap of malloc. False: libmpiaccel_heap.so is not in the process, or leaves malloc to
 * the next allocator. */
static bool open_malloc_heap(struct malloc_heap *heap)
{
    malloc_heap_open_fn *open = (malloc_heap_open_fn *)dlsym(RTLD_DEFAULT, MALLOC_HEAP_OPEN_NAME);
    return open && open(heap);
}

/* Move static variables, and create heaps, in memory that the node's ranks can map when they have
 * met. Returns the file of this memory. */
static int move_statics(bool session)
{
    struct malloc_heap of_malloc;
    if (open_malloc_heap(&of_malloc))
        return statics_move(config.statics, 0, &of_malloc);
    size_t early_heap = session && config.alloc ? arena_early_size(heap_limit()) : 0;
    int file = statics_move(config.statics, early_heap, NULL);
    if (statics_heap().size)
        arena_early_open((char *)statics_heap().address, early_heap);
    return file;
}

void node_setup_enter(bool session)
{
    struct job job;
    host_job(&job);
    wait_policy_enter(job.local_size);
    eager_limit_raise(&job);
    refused_copies_avoid(&job);
    if (rendezvous_prepare())
        rendezvous_want(symmetric_wanted(), move_statics(session));
    rendezvous_enter(&job);
}

/* ---- settling ---- */

/* A communicator of all processes of the job, on which they are meeting. */
static MPI_Comm meeting;

static void ranks_of_meeting(int to_and_from[2])
{
    MPI_Group group;
    int world_ranks[2] = {to_and_from[0], to_and_from[1]};
    host.Comm_group(meeting, &group);
    host.Group_translate_ranks(world_group(), 2, world_ranks, group, to_and_from);
    host.Group_free(&group);
}

/* No other message of this library or the program is under way on the communicator between two
 * ranks that are meeting, so the tag does not matter. If the message does not come, the receive
 * remains, for one that comes later. */
static bool exchange_by_host(int to, int from, uint64_t sent, uint64_t *received)
{
    enum { TAG = 1 };
    static const uint64_t patience_ns = UINT64_C(10000000000);
    static uint64_t out, in;
    MPI_Request request[2];
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    int arrived = 0, gone = 0, ranks[2] = {to, from};
    ranks_of_meeting(ranks);
    /* Hosts connect two ranks when they first communicate, and need both of them for that. So this
     * rank makes progress for the host, on this communicator, until all members have confirmed. */
    private_comm();
    out = sent;
    host.Irecv(&in, sizeof in, constants.byte, ranks[1], TAG, meeting, &request[0]);
    host.Isend(&out, sizeof out, constants.byte, ranks[0], TAG, meeting, &request[1]);
    /* Polls must not use the shared file yet: it is discarded if a member does not confirm. */
    host_wait_suspend();
    while (!(arrived && gone) && sync_now_ns() - start < patience_ns) {
        if (!arrived)
            host.Test(&request[0], &arrived, MPI_STATUS_IGNORE);
        if (!gone)
            host.Test(&request[1], &gone, MPI_STATUS_IGNORE);
        sync_pause(&wait);
    }
    host_wait_resume();
    *received = in;
    return arrived && gone;
}

static uint32_t own_facts;

static void publish_start_facts(bool by_session)
{
    own_facts =
        START_KNOWN | (early_groups ? START_EARLY_GROUPS : 0) | (by_session ? START_BY_SESSION : 0);
    if (node.header)
        sync_publish_ordered(&node_member(node.me)->start_facts, own_facts);
}

static void open_node_heap(void)
{
    if (node.header)
        arena_open(node_slice(node.me), layout_symmetric_at(node.header), node.header->control_size,
                   heap_limit());
}

/* Whether ranks outside the node may send messages, which wake no thread. */
static bool has_ranks_outside(bool by_session)
{
    MPI_Comm parent = MPI_COMM_NULL;
    if (!by_session)
        host.Comm_get_parent(&parent);
    return (uint32_t)world_size > node.size || parent != MPI_COMM_NULL;
}

static void open_handles(void)
{
    predefined_open();
    reducers_open();
    collectives_open();
    handles_known = true;
}

/* As MPICH reads its settings. */
static bool is_set_to_true(const char *name)
{
    const char *value = getenv(name);
    return value && *value && (strchr("1tTyY", *value) || !strcasecmp(value, "on"));
}

/* Whether the host may return from a call because another rank has died (ULFM). */
static bool host_tolerates_failures(void)
{
    const bool *of_open_mpi = host_symbol("ompi_ftmpi_enabled");
    return (of_open_mpi && *of_open_mpi) || is_set_to_true("MPIR_CVAR_ENABLE_FT") ||
           is_set_to_true("MPIR_PARAM_ENABLE_FT") || is_set_to_true("MPICH_ENABLE_FT");
}

/* Threads that create communicators at the same time give them different tags (MPI-4.0, 7.4.2). */
static void settle_node(const char *tag)
{
    bool by_session = tag;
    if (host_tolerates_failures()) {
        config.nodes = false;
        rendezvous_refuse(REASON_FAULT_TOLERANT);
    }
    rendezvous_settle(world_rank, world_size, tag ? job_hash(tag) : 0, exchange_by_host);
    publish_start_facts(by_session);
    process_vm_open();
    copy_requests_open();
    statics_open();
    open_handles();
    open_node_heap();
    if (!node_shortage().cause) {    /* otherwise the two that measure may not run together */
        sync_configure(false, NULL); /* progress of the host would take a part of the time */
        calibrate();
    }
    wait_policy_apply(private_comm_progress);
    if (has_ranks_outside(by_session))
        host_wait_stay_awake();
    wait_policy_log();
}

void node_setup_settle(MPI_Comm all, const char *tag)
{
    pthread_mutex_lock(&mutex);
    if (!settled) {
        meeting = all;
        settle_node(tag);
        settled = true;
    } else if (!handles_known) {
        open_handles();
    }
    pthread_mutex_unlock(&mutex);
}

bool node_setup_is_over(void)
{
    return settled && handles_known;
}

void node_setup_host_reloaded(void)
{
    handles_known = false;
}

/* ---- what the ranks have published ---- */

void node_setup_group_begins(void)
{
    pthread_mutex_lock(&mutex);
    early_groups |= !settled;
    pthread_mutex_unlock(&mutex);
}

static uint32_t facts_of(struct layout_member *member)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t facts;
    while (!(facts = sync_load(&member->start_facts)))
        sync_wait(&wait, &member->start_facts, 0);
    return facts;
}

/* Whether any member has published this fact. If the node shares no memory, only this rank
 * counts. */
static bool any_member_has(enum start_fact fact)
{
    static _Atomic uint32_t all;
    if (!node.header)
        return own_facts & fact;
    if (UNLIKELY(!all)) {
        uint32_t facts = 0;
        for (uint32_t i = 0; i < node.size; i++)
            facts |= facts_of(node_member(i));
        all = facts;
    }
    return all & fact;
}

bool node_setup_has_early_groups(void)
{
    return any_member_has(START_EARLY_GROUPS);
}

bool node_setup_has_reduce_local(void)
{
    return !quirk(QUIRK_REDUCE_LOCAL_NEEDS_INIT) || !any_member_has(START_BY_SESSION);
}

bool node_setup_needs_groups(void)
{
    return !node_setup_is_over() || node_setup_has_early_groups();
}

/* ---- finalizing ---- */

static bool finalizes_alone;

static bool has_finalize_steps(void)
{
    return node.header && settled && node.size == (uint32_t)world_size &&
           quirk(QUIRK_FINALIZE_HANGS);
}

void node_setup_finalize_alone(void)
{
    finalizes_alone = true;
    if (has_finalize_steps())
        sync_publish_ordered(&node_member(node.me)->finalize_step, FINALIZE_NO_PROGRESS);
}

static bool await_step(struct sync_word *word, enum finalize_step step, uint64_t deadline)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t seen;
    while ((seen = sync_load(word)) < step) {
        if (sync_now_ns() > deadline)
            return false;
        sync_wait(&wait, word, seen);
    }
    return true;
}

void node_setup_finalize(enum finalize_step step)
{
    static const uint64_t patience_ns = UINT64_C(10000000000);
    if (!has_finalize_steps() || finalizes_alone)
        return;
    uint64_t deadline = sync_now_ns() + patience_ns;
    sync_publish_ordered(&node_member(node.me)->finalize_step, step);
    for (uint32_t i = 0; i < node.size; i++)
        if (!await_step(&node_member(i)->finalize_step, step, deadline)) {
            node_setup_finalize_alone();
            return;
        }
}
