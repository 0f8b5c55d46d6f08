#include "pmpi_wrap/abi/communicators/team_setup.h"

#include "alloc/arena.h"
#include "coll_inplace/child.h"
#include "core/config.h"
#include "node/node.h"
#include "pmpi_wrap/abi/communicators/from_parent.h"
#include "pmpi_wrap/abi/communicators/properties.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/nodes/agreement.h"
#include "pmpi_wrap/abi/nodes/hierarchy.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/quirks.h"

#include <stdlib.h>

struct registry communicator_registry = REGISTRY_INITIALIZER;

/* Collective calls before the exchange begins, and the most calls while it is in progress: hosts
 * let a root run far ahead in small broadcasts. */
enum { CALLS_BEFORE = 2, CALLS_DURING = 1024 };

/* Exchanges in progress. */
static struct communicator *exchanges;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- memory ---- */

/* The node's shared file may have memory left when the process has none. */
static struct communicator *new_communicator(void)
{
    struct communicator *c = malloc(sizeof *c); /* calloc() bypasses the thread's cache */
    bool in_control_part = !c;
    if (c || (c = arena_control_alloc_raw(sizeof *c)))
        *c = (struct communicator){.in_control_part = in_control_part};
    return c;
}

static void free_communicator(struct communicator *c)
{
    if (c && c->in_control_part)
        arena_control_free(c);
    else
        free(c);
}

static void discard_communicator(struct communicator *c)
{
    if (c->team || c->inter_team)
        team_leave(c->team ? c->team : c->inter_team);
    if (c->hierarchy)
        hierarchy_free(c->hierarchy);
    else if (c->prepared)
        team_withdraw(c->prepared, &c->own_offer);
    free(c->offers);
    free_communicator(c);
}

/* ---- the list of exchanges ---- */

static void list_exchange(struct communicator *c)
{
    pthread_mutex_lock(&mutex);
    c->next = exchanges;
    exchanges = c;
    pthread_mutex_unlock(&mutex);
}

static void unlist_exchange(struct communicator *c)
{
    pthread_mutex_lock(&mutex);
    struct communicator **link = &exchanges;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    pthread_mutex_unlock(&mutex);
}

/* Take all communicators off the list, or only the freed ones, so that no other thread finds
 * them. */
static struct communicator *unlist_communicators(bool freed_only)
{
    struct communicator *taken = NULL;
    pthread_mutex_lock(&mutex);
    for (struct communicator **link = &exchanges; *link;) {
        struct communicator *c = *link;
        if (!freed_only || c->freed) {
            *link = c->next;
            c->next = taken;
            taken = c;
        } else {
            link = &c->next;
        }
    }
    pthread_mutex_unlock(&mutex);
    return taken;
}

/* ---- the exchange ---- */

static uint32_t offer_count(const struct communicator *c)
{
    return (uint32_t)(c->remote_size ? c->remote_size : c->size);
}

/* Prepare the team of the ranks on this node. */
static void prepare_part(MPI_Comm comm, struct communicator *c)
{
    static _Atomic int next_tag;
    struct node_part part;
    hierarchy_find_part(comm, c->size, &part);
    if (part.size > 1) {
        c->prepared = team_prepare(part.size, part.rank, part.neighbour, &c->own_offer);
    } else {
        c->prepared = team_of_one();
        c->own_offer = (struct team_offer){.reason = c->prepared ? REASON_NONE : REASON_NO_MEMORY};
    }
    /* Open MPI 4.1 sometimes hangs if several threads create communicators. */
    if (thread_concurrent || hierarchies_are_many())
        c->own_offer.reason = REASON_NODES_LIMIT;
    c->own_offer.node = node_leader();
    c->own_offer.tag = ++next_tag & 0x3fff;
}

static void prepare_team(MPI_Comm comm, struct communicator *c)
{
    uint32_t rank = (uint32_t)c->rank, size = (uint32_t)c->size;
    uint32_t remote_size = (uint32_t)c->remote_size;
    team_reap();
    if (c->spans_nodes)
        prepare_part(comm, c);
    else if (remote_size)
        c->prepared = team_prepare_between(size, rank, remote_size, c->neighbour, &c->own_offer);
    else
        c->prepared = team_prepare(size, rank, c->neighbour, &c->own_offer);
    if (gpu_memory_possible())
        c->own_offer.reason = REASON_GPU;
    c->offers = malloc(offer_count(c) * sizeof *c->offers);
    if (!c->offers)
        c->own_offer.reason = REASON_NO_MEMORY;
}

static void withdraw_team(struct communicator *c, enum reason reason)
{
    team_withdraw(c->prepared, &c->own_offer);
    c->prepared = NULL;
    c->reason = reason;
}

/* Let the host collect the offers of all ranks, at once if the exchange is blocking. */
static int collect_offers(MPI_Comm comm, struct communicator *c, const struct team_offer *offer,
                          struct team_offer *offers)
{
    enum { BYTES = sizeof *offer };
    if (!c->blocking)
        return host.Iallgather(offer, BYTES, MPI_BYTE, offers, BYTES, MPI_BYTE, comm, &c->request);
    c->request = MPI_REQUEST_NULL;
    return host.Allgather(offer, BYTES, MPI_BYTE, offers, BYTES, MPI_BYTE, comm);
}

static void begin_exchange(MPI_Comm comm, struct communicator *c, const struct team_offer *offer)
{
    /* A rank without memory for the offers of the others takes part all the same, since they wait
     * for its own offer, which declines. It does not read the offers of the others. */
    static struct team_offer unread[TEAM_RANKS_MAX];
    if (collect_offers(comm, c, offer, c->offers ? c->offers : unread) != MPI_SUCCESS) {
        withdraw_team(c, REASON_NO_MEMORY);
        return;
    }
    c->max_calls = c->calls + CALLS_DURING;
    c->exchanging = true;
    list_exchange(c);
}

/* Evaluate the offers of all ranks or, in an intercommunicator, those of the other group. */
static enum reason evaluate_offers(struct communicator *c)
{
    if (c->own_offer.reason != REASON_NONE)
        return (enum reason)c->own_offer.reason;
    return team_settle(c->prepared, c->offers, offer_count(c));
}

/* Make the hierarchy from the offers of all ranks; connect_nodes() connects it later. If this rank
 * has no memory for the hierarchy, hierarchy_connect() reports that to the others. */
static void settle_parts(struct communicator *c)
{
    enum reason reason = (enum reason)c->own_offer.reason;
    uint32_t here = 0, size = (uint32_t)c->size;
    bool together = false;
    for (uint32_t r = 0; r < size && reason == REASON_NONE; r++) {
        reason = (enum reason)c->offers[r].reason;
        together |= c->offers[r].mailbox != 0;
    }
    if (reason == REASON_NONE && !together) /* every rank is alone on its node */
        reason = REASON_NODES_ALONE;
    if (reason != REASON_NONE) {
        withdraw_team(c, reason);
        return;
    }
    c->connecting = true;
    c->own_offer.tag = c->offers[0].tag;
    int *nodes = malloc(size * sizeof *nodes);
    if (!nodes)
        return;
    for (uint32_t r = 0; r < size; r++) {
        nodes[r] = c->offers[r].node;
        if (nodes[r] == c->own_offer.node)
            c->offers[here++] = c->offers[r];
    }
    if (here > 1)
        team_settle(c->prepared, c->offers, here);
    c->hierarchy = hierarchy_create(c->prepared, nodes, size, (uint32_t)c->rank);
    if (c->hierarchy)
        c->prepared = NULL;
    free(nodes);
}

static void connect_nodes(MPI_Comm comm, struct communicator *c)
{
    c->connecting = false;
    if (hierarchy_connect(c->hierarchy, comm, c->own_offer.tag)) {
        c->reason = REASON_NONE;
    } else if (c->hierarchy) {
        hierarchy_free(c->hierarchy);
        c->hierarchy = NULL;
        c->reason = REASON_NO_MEMORY;
    } else {
        withdraw_team(c, REASON_NO_MEMORY);
    }
}

/* Wait for the exchange, which is on no list, and evaluate the offers. True: the groups of an
 * intercommunicator have to exchange their answers. */
static bool finish_exchange(struct communicator *c)
{
    c->exchanging = false; /* before a call that may end in an error handler */
    c->completing = true;
    host.Wait(&c->request, MPI_STATUS_IGNORE);
    c->completing = false;
    if (c->spans_nodes) {
        settle_parts(c);
        free(c->offers);
        c->offers = NULL;
        return false;
    }
    bool answered = c->answering;
    enum reason reason = answered ? (enum reason)c->answer.reason : evaluate_offers(c);
    if (c->remote_size && !answered && !c->freed) {
        c->answering = true;
        c->answer.reason = reason;
        return true;
    }
    if (answered && reason == REASON_NONE)
        reason = (enum reason)c->offers[0].reason;
    if (c->remote_size && !answered)
        reason = REASON_NOT_READY;
    free(c->offers);
    c->offers = NULL;
    if (reason != REASON_NONE) {
        withdraw_team(c, reason);
        return false;
    }
    *(c->remote_size ? &c->inter_team : &c->team) = c->prepared;
    c->prepared = NULL;
    c->reason = REASON_NONE;
    return false;
}

static void complete_exchange(MPI_Comm comm, struct communicator *c)
{
    unlist_exchange(c);
    if (!finish_exchange(c)) {
        if (c->connecting)
            connect_nodes(comm, c);
        return;
    }
    begin_exchange(comm, c, &c->answer);
    if (c->exchanging && c->synchronises) {
        unlist_exchange(c);
        finish_exchange(c);
    }
}

/* Finish the exchanges of freed communicators that are complete. No rank has used the team of such
 * a communicator, and each discards it by itself. */
static void finish_freed_exchanges(void)
{
    struct communicator *next;
    for (struct communicator *c = unlist_communicators(true); c; c = next) {
        int complete;
        next = c->next;
        host.Test(&c->request, &complete, MPI_STATUS_IGNORE);
        if (complete) {
            finish_exchange(c);
            discard_communicator(c);
        } else {
            list_exchange(c);
        }
    }
}

/* ---- finding a communicator and making its team ---- */

/* Set the communicator's properties, and whether it can have a team: the same on all ranks. */
static void read_properties(MPI_Comm comm, struct communicator *c)
{
    struct comm_properties s = {0};
    enum reason reason = comm_properties_of(comm, TEAM_RANKS_MAX, &s);
    if (reason == REASON_ONE_NODE_ONLY) {
        reason = nodes_why_not();
        c->spans_nodes = reason == REASON_NONE;
    }
    if (reason == REASON_INTERCOMM)
        reason = intercomm_properties_of(comm, TEAM_RANKS_MAX, &s);
    c->reason = reason == REASON_NONE ? REASON_NOT_READY : reason;
    c->size = s.size;
    c->rank = s.rank;
    c->remote_size = s.remote_size;
    c->neighbour = s.neighbour;
}

static bool is_of_one_rank(const struct communicator *c)
{
    return c->size == 1 && !c->remote_size;
}

void team_be_alone(struct communicator *c)
{
    bool gpu = gpu_memory_possible();
    c->team = gpu ? NULL : team_of_one();
    c->reason = c->team ? REASON_NONE : gpu ? REASON_GPU : REASON_NO_MEMORY;
}

/* NULL: no memory. */
static struct communicator *try_to_register(MPI_Comm comm)
{
    struct communicator *c = new_communicator();
    if (c && registry_add(&communicator_registry, BITS(comm), c, 0)) {
        c->reason = config.coll ? REASON_NOT_READY : REASON_OFF;
        return c;
    }
    free_communicator(c);
    return NULL;
}

struct communicator *team_register(MPI_Comm comm)
{
    struct communicator *c = try_to_register(comm);
    if (c)
        return c;
    struct communicator known = {.reason = REASON_OFF};
    if (config.coll)
        read_properties(comm, &known);
    if (known.reason == REASON_NOT_READY && !is_of_one_rank(&known))
        abort_without_memory("a communicator");
    return NULL;
}

/* Whether the communicator spans nodes and may not live long enough to gain what connecting them
 * takes, which is as long as some dozens of collective calls. */
static bool may_not_last(MPI_Comm comm, const struct communicator *c)
{
    return c->spans_nodes && comm != MPI_COMM_WORLD && c->calls < config.nodes_calls;
}

static void begin_team(MPI_Comm comm, struct communicator *c)
{
    read_properties(comm, c);
    if (c->reason != REASON_NOT_READY || may_not_last(comm, c))
        return;
    if (is_of_one_rank(c)) {
        team_be_alone(c);
        return;
    }
    finish_freed_exchanges();
    prepare_team(comm, c);
    begin_exchange(comm, c, &c->own_offer);
}

/* Before the host has accepted a call, the handle must not be passed to any other call: if it is
 * invalid, the error handler would be called twice. */
static enum reason reason_of(const struct communicator *c)
{
    return c->reason == REASON_NOT_READY && !node.header ? node.why_not : c->reason;
}

static struct communicator *find_or_register(MPI_Comm comm)
{
    struct communicator *c = team_find(comm);
    if (!c)
        c = team_from_parent(comm);
    return c ? c : team_register(comm);
}

COLD struct team *team_for_slow(MPI_Comm comm, enum call call, bool synchronises)
{
    if (inside_host() || comm == MPI_COMM_NULL) {
        note_deferred(call, inside_host() ? REASON_INSIDE : REASON_ARGUMENTS);
        return NULL;
    }
    struct communicator *c = find_or_register(comm);
    if (!c) {
        note_deferred(call, REASON_NO_MEMORY);
        return NULL;
    }
    c->synchronises = synchronises;
    struct team *team = c->team ? c->team : c->inter_team;
    if (!team && !(c->hierarchy && c->hierarchy->connected))
        note_deferred(call, reason_of(c));
    return team;
}

struct communicator *team_find(MPI_Comm comm)
{
    struct entry *e = registry_find(&communicator_registry, BITS(comm));
    return e ? e->object : NULL;
}

struct hierarchy *team_hierarchy(MPI_Comm comm)
{
    struct communicator *c = inside_host() ? NULL : team_find(comm);
    return c && c->hierarchy && c->hierarchy->connected ? c->hierarchy : NULL;
}

struct team *team_if_ready(MPI_Comm comm)
{
    struct communicator *c = team_find(comm);
    return c ? c->team : NULL;
}

void team_mark(MPI_Comm comm)
{
    struct communicator *c = team_register(comm);
    if (!c)
        abort_without_memory("a communicator");
    c->of_all_processes = true;
    free_notice_comm(comm);
}

bool team_is_marked(MPI_Comm comm)
{
    const struct communicator *c = team_find(comm);
    return c && c->of_all_processes;
}

/* The host has refused the arguments, and so has presumably done nothing: a single rank may have
 * made the call. Other errors (above all data that was too long) occur on some ranks in a call that
 * all ranks make. */
static bool arguments_refused(int result)
{
    int class;
    if (LIKELY(result == MPI_SUCCESS) || host.Error_class(result, &class))
        return result != MPI_SUCCESS;
    return class == MPI_ERR_BUFFER || class == MPI_ERR_COUNT || class == MPI_ERR_TYPE ||
           class == MPI_ERR_COMM || class == MPI_ERR_RANK || class == MPI_ERR_ROOT ||
           class == MPI_ERR_OP || class == MPI_ERR_ARG;
}

/* Whether this thread is in a delete function of the communicator. The request of an exchange that
 * began there would outlive the communicator, and the host may forget an attribute that is set
 * there. */
static bool is_being_freed(MPI_Comm comm)
{
    return registry_is_removing(&communicator_registry, BITS(comm));
}

/* Whether it is time to begin the exchange: after CALLS_BEFORE calls and, on a communicator that
 * spans nodes, after MPIACCEL_NODES_CALLS calls. A blocking exchange also needs a call that
 * synchronises. */
static bool begins_now(const struct communicator *c)
{
    unsigned long before = c->spans_nodes ? config.nodes_calls : CALLS_BEFORE;
    if (c->blocking)
        return c->synchronises && c->calls >= before;
    return !c->exchanging && c->calls == before;
}

int team_after_host(MPI_Comm comm, int result)
{
    struct communicator *c = team_find(comm);
    bool refused = arguments_refused(result);
    if (c && refused)
        c->refused = true;
    if (!c || refused || c->reason != REASON_NOT_READY || inside_host())
        return result;
    if (!c->calls && !is_being_freed(comm)) /* the host has accepted the handle */
        free_notice_comm(comm);
    bool must = c->calls == c->max_calls && !c->spans_nodes; /* connecting nodes synchronises */
    if (c->exchanging && (c->synchronises || must)) {
        complete_exchange(comm, c);
        return result;
    }
    c->calls++;
    if (begins_now(c) && !is_being_freed(comm))
        begin_team(comm, c);
    if (c->exchanging && c->blocking)
        complete_exchange(comm, c);
    return result;
}

void team_after_idup(MPI_Comm parent, int result)
{
    if (result != MPI_SUCCESS || !quirk(QUIRK_IDUP_STARTS_LATE) || inside_host())
        return;
    struct communicator *c = find_or_register(parent);
    if (!c || c->reason != REASON_NOT_READY || c->exchanging || is_being_freed(parent))
        return;
    c->blocking = true;
    if (!c->calls)
        free_notice_comm(parent);
}

bool team_can_count(MPI_Comm comm)
{
    const struct communicator *c = team_find(comm);
    if (!c && config.coll)
        c = try_to_register(comm);
    return c && c->reason == REASON_NOT_READY;
}

void team_count(MPI_Comm comm)
{
    team_find(comm)->synchronises = true;
    team_after_host(comm, MPI_SUCCESS);
}

/* ---- freeing ---- */

/* How long to wait for the request of an exchange before its communicator is freed. Not for ever: a
 * program may send what the other ranks wait for only after MPI_Comm_free. */
static uint64_t patience_ns(void)
{
    if (quirk(QUIRK_FREE_BREAKS_COLLECTIVES))
        return UINT64_C(1000000000);
    return quirk(QUIRK_REQUESTS_KEEP_ATTRIBUTES) ? UINT64_C(1000000) : 0;
}

static void try_to_complete(struct communicator *c, uint64_t patience)
{
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    int complete = 0;
    host_wait_suspend();
    while (!host.Test(&c->request, &complete, MPI_STATUS_IGNORE) && !complete &&
           sync_now_ns() - start < patience)
        sync_pause(&wait);
    host_wait_resume();
}

/* Abandon the team of a child if there has been no operation in it, before the host calls delete
 * functions: the team may not exist on all ranks (child.h). */
static void forget_unused(struct communicator *c)
{
    if (!c->from_parent || !c->team || !child_is_unused(c->team))
        return;
    child_leave_unused(c->team, c->refused);
    c->team = NULL;
    c->reason = REASON_NOT_READY;
}

/* Also called while the host calls back a function of the program that frees a communicator. */
uintptr_t team_begin_removal(const MPI_Comm *comm, bool may_wait)
{
    bool lasts = !comm || *comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF;
    uintptr_t handle = lasts ? BITS(MPI_COMM_NULL) : BITS(*comm);
    team_forget_child(handle);
    struct communicator *c = registry_begin_removal(&communicator_registry, handle);
    if (c)
        forget_unused(c);
    if (c && c->exchanging && may_wait) {
        unlist_exchange(c);
        c->freed = true;
        finish_exchange(c);
    } else if (c && c->exchanging) {
        try_to_complete(c, patience_ns());
    }
    return handle;
}

static void discard_freed(struct communicator *c)
{
    if (c && (c->exchanging || c->completing)) {
        pthread_mutex_lock(&mutex);
        c->freed = true; /* from now on the list of exchanges, or finish_exchange(), owns it */
        pthread_mutex_unlock(&mutex);
    } else if (c) {
        discard_communicator(c);
    }
}

int team_end_removal(uintptr_t handle, int result)
{
    if (result != MPI_SUCCESS) {
        registry_cancel_removal(&communicator_registry, handle);
        return result;
    }
    discard_freed(registry_end_removal(&communicator_registry, handle));
    return result;
}

void team_freed(MPI_Comm comm)
{
    if (is_being_freed(comm))
        return;
    struct communicator *c = registry_remove(&communicator_registry, BITS(comm));
    if (c)
        forget_unused(c);
    discard_freed(c);
}

/* Communicators of sessions remain in use. One rank may make a call on them before MPI_Finalize
 * that another one makes after it, so their exchanges are completed in the usual calls.
 * Communicators that descend from MPI_COMM_WORLD cannot be distinguished from them. */
void teams_world_ends(void)
{
    struct communicator *world = team_find(MPI_COMM_WORLD);
    if (world && world->exchanging && !world->spans_nodes)
        complete_exchange(MPI_COMM_WORLD, world);
    finish_freed_exchanges();
}

/* Forget the teams of MPI_COMM_WORLD and MPI_COMM_SELF; the host reports an error for later calls
 * on them. */
void teams_world_ended(void)
{
    const MPI_Comm predefined[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++) {
        struct communicator *c = registry_remove(&communicator_registry, BITS(predefined[i]));
        if (c)
            discard_communicator(c);
    }
}

void teams_close(void)
{
    struct communicator *next;
    for (struct communicator *c = unlist_communicators(false); c; c = next) {
        next = c->next;
        finish_exchange(c);
        if (c->freed)
            discard_communicator(c);
    }
}

static bool forget_communicator(const struct entry *e)
{
    discard_communicator(e->object);
    return true;
}

void teams_forget(void)
{
    team_forget_children();
    registry_forget(&communicator_registry, forget_communicator);
}
