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
#include "pmpi_wrap/host.h"

#include <pthread.h>

int world_rank, world_size;

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
    host_job(&job);
    rendezvous_want(symmetric_wanted(), statics_move(config.statics, early_heap));
    if (statics_heap())
        arena_early_open(statics_heap(), early_heap);
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
 * ranks that are meeting, so any tag will do. If the message does not come, the receive remains,
 * for one that comes later. */
static bool exchange(int to, int from, uint64_t sent, uint64_t *received)
{
    enum { TAG = 1 };
    static const uint64_t patience_ns = UINT64_C(10000000000);
    static uint64_t out, in;
    MPI_Request request[2];
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    int arrived = 0, gone = 0, ranks[2] = {to, from};
    ranks_of_meeting(ranks);
    /* Hosts connect two ranks when they first communicate, and need both of them for that. */
    sync_configure(false, private_comm_progress);
    out = sent;
    host.Irecv(&in, sizeof in, constants.byte, ranks[1], TAG, meeting, &request[0]);
    host.Isend(&out, sizeof out, constants.byte, ranks[0], TAG, meeting, &request[1]);
    while (!(arrived && gone) && sync_now_ns() - start < patience_ns) {
        if (!arrived)
            host.Test(&request[0], &arrived, MPI_STATUS_IGNORE);
        if (!gone)
            host.Test(&request[1], &gone, MPI_STATUS_IGNORE);
        sync_pause(&wait);
    }
    *received = in;
    return arrived && gone;
}

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
    rendezvous_settle(world_rank, world_size, exchange);
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

void node_setup_settle(MPI_Comm all)
{
    pthread_mutex_lock(&mutex);
    if (!settled) {
        meeting = all;
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
