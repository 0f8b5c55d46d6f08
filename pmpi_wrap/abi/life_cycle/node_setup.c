#include "pmpi_wrap/abi/life_cycle/node_setup.h"

#include "alloc/arena.h"
#include "alloc/calibrate.h"
#include "alloc/node.h"
#include "alloc/rendezvous.h"
#include "alloc/statics.h"
#include "alloc/symmetric.h"
#include "alloc/vm_copy.h"
#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/abi/collectives/reduction.h"
#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/operation.h"

#include <pthread.h>

int world_rank;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool settled;
static bool early_groups; /* of this rank; protected by the mutex */

static size_t heap_limit(void)
{
    return config.heap_size ? config.heap_size : SIZE_MAX;
}

/* ---- entering ---- */

void node_setup_enter(bool session)
{
    struct job job;
    size_t early_heap = session && config.alloc ? arena_early_size(heap_limit()) : 0;
    job_read(&job);
    rendezvous_want(symmetric_wanted(), statics_move(config.statics, early_heap));
    if (statics_heap())
        arena_early_open(statics_heap(), early_heap);
    rendezvous_enter(&job);
}

/* ---- settling ---- */

static void publish_early_groups(void)
{
    if (node.header)
        sync_publish_ordered(&node_member(node.me)->early_groups,
                             early_groups ? EARLY_SOME : EARLY_NONE);
}

static void open_arena(void)
{
    if (node.header && !arena_open(node_slice(node.me), layout_symmetric_at(node.header),
                                   node.header->control_size, heap_limit()))
        log_message(
            1, "no memory for the shared heap's book-keeping: MPI_Alloc_mem is left to the host; "
               "lower MPIACCEL_HEAP_SIZE or lift `ulimit -v` or `-d`");
}

static void settle(void)
{
    int size = 0;
    host.Group_size(world_group(), &size);
    rendezvous_settle(world_rank, size);
    publish_early_groups();
    vm_copy_open();
    statics_open();
    predefined_open();
    reduction_functions_open();
    open_arena();
    sync_configure(node_oversubscribed(), NULL);
    calibrate();
    sync_configure(node_oversubscribed(), private_comm_progress);
}

void node_setup_settle(void)
{
    pthread_mutex_lock(&mutex);
    if (!settled) {
        settle();
        settled = true;
    }
    pthread_mutex_unlock(&mutex);
}

bool node_setup_is_over(void)
{
    return settled;
}

/* ---- early groups ---- */

void node_setup_group_begins(void)
{
    pthread_mutex_lock(&mutex);
    early_groups |= !settled;
    pthread_mutex_unlock(&mutex);
}

static bool member_has_early_groups(struct layout_member *member)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t value;
    while ((value = sync_load(&member->early_groups)) == EARLY_UNKNOWN)
        sync_wait(&wait, &member->early_groups, EARLY_UNKNOWN);
    return value == EARLY_SOME;
}

bool node_setup_has_early_groups(void)
{
    static _Atomic enum early_groups known;
    if (LIKELY(known != EARLY_UNKNOWN) || !node.header)
        return known == EARLY_SOME;
    bool any = false;
    for (uint32_t i = 0; i < node.size; i++)
        any |= member_has_early_groups(node_member(i));
    known = any ? EARLY_SOME : EARLY_NONE;
    return any;
}

bool node_setup_needs_groups(void)
{
    return !settled || node_setup_has_early_groups();
}
