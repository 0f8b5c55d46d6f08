#include "pmpi_wrap/abi/communicators/team_setup.h"

#include "core/config.h"
#include "pmpi_wrap/abi/buffered_sends/bsend.h"

#include <stdlib.h>
#include <unistd.h>

struct registry communicators = REGISTRY_INITIALIZER;

/* Calls on a communicator before the exchange begins, and after which it ends in any case. */
enum { CALLS_BEFORE = 2, CALLS_DURING = 16 };

/* Those whose exchange is under way. */
static struct communicator *exchanging;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int report_on_comm(MPI_Comm comm, int error_class)
{
    host.Comm_call_errhandler(comm, error_class);
    return error_class;
}

COLD void end_job(const char *what)
{
    log_message(0, "no memory for %s, which other ranks count on: the job ends; lift `ulimit -v`",
                what);
    host.Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    _exit(1);
}

/* ---- what we know of one ---- */

/* Where the process has no memory left, the node's file may. */
static struct communicator *new_communicator(void)
{
    struct communicator *c = calloc(1, sizeof *c);
    /* cppcheck-suppress memleak ; it overlooks the condition */
    return c ? c : arena_control_alloc(sizeof *c);
}

static void free_communicator(struct communicator *c)
{
    if (c && node_shares(c, sizeof *c))
        arena_control_free(c);
    else
        free(c);
}

static void discard(struct communicator *c)
{
    if (c->team || c->across)
        team_leave(c->team ? c->team : c->across);
    free(c->offers);
    free_communicator(c);
}

/* ---- the exchange ---- */

static void note_exchange(struct communicator *c)
{
    pthread_mutex_lock(&mutex);
    c->next = exchanging;
    exchanging = c;
    pthread_mutex_unlock(&mutex);
}

static uint32_t number_of_offers(const struct communicator *c)
{
    return (uint32_t)(c->others ? c->others : c->size);
}

static void prepare(struct communicator *c)
{
    uint32_t rank = (uint32_t)c->rank, size = (uint32_t)c->size, others = (uint32_t)c->others;
    team_reap();
    c->prepared = others ? team_prepare_between(size, rank, others, c->neighbour, &c->mine)
                         : team_prepare(size, rank, c->neighbour, &c->mine);
    if (gpu_runtime_loaded())
        c->mine.reason = REASON_GPU;
    c->offers = malloc(number_of_offers(c) * sizeof *c->offers);
    if (!c->offers)
        c->mine.reason = REASON_NO_MEMORY;
}

static void give_up(struct communicator *c, enum reason reason)
{
    team_withdraw(c->prepared, &c->mine);
    c->prepared = NULL;
    c->reason = reason;
}

static void begin(MPI_Comm comm, struct communicator *c, const struct team_offer *say)
{
    /* Who has no room for offers takes part all the same, says no, and reads none. */
    static struct team_offer unread[TEAM_RANKS_MAX];
    struct team_offer *offers = c->offers ? c->offers : unread;
    enter_host();
    int result = host.Iallgather(say, sizeof *say, MPI_BYTE, offers, sizeof *say, MPI_BYTE, comm,
                                 &c->request);
    leave_host();
    if (result != MPI_SUCCESS) {
        give_up(c, REASON_NO_MEMORY);
        return;
    }
    c->most = c->calls + CALLS_DURING;
    c->exchanging = true;
    note_exchange(c);
}

static void forget_exchange(struct communicator *c)
{
    pthread_mutex_lock(&mutex);
    struct communicator **link = &exchanging;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    pthread_mutex_unlock(&mutex);
}

/* What the ranks agree on, or between groups what the other one's ranks do. */
static enum reason agreed(struct communicator *c)
{
    if (c->mine.reason != REASON_COUNT)
        return (enum reason)c->mine.reason;
    return team_settle(c->prepared, c->offers, number_of_offers(c));
}

/* The exchange has ended, and it is on no list. True: the groups have still to answer. */
static bool conclude(struct communicator *c)
{
    host.Wait(&c->request, MPI_STATUS_IGNORE);
    c->exchanging = false;
    bool answered = c->answering;
    enum reason reason = answered ? (enum reason)c->answer.reason : agreed(c);
    if (c->others && !answered && !c->freed) {
        c->answering = true;
        c->answer.reason = reason;
        return true;
    }
    if (answered && reason == REASON_COUNT)
        reason = (enum reason)c->offers[0].reason;
    if (c->others && !answered)
        reason = REASON_NOT_READY;
    free(c->offers);
    c->offers = NULL;
    if (reason != REASON_COUNT) {
        give_up(c, reason);
        return false;
    }
    *(c->others ? &c->across : &c->team) = c->prepared;
    c->prepared = NULL;
    c->reason = REASON_COUNT;
    return false;
}

static void complete(MPI_Comm comm, struct communicator *c, bool synchronises)
{
    forget_exchange(c);
    if (!conclude(c))
        return;
    begin(comm, c, &c->answer);
    if (c->exchanging && synchronises) {
        forget_exchange(c);
        conclude(c);
    }
}

/* Off the list: the freed communicators, which from now on no other thread sees; or all. */
static struct communicator *take_exchanges(bool all)
{
    struct communicator *taken = NULL;
    pthread_mutex_lock(&mutex);
    for (struct communicator **link = &exchanging; *link;) {
        struct communicator *c = *link;
        if (all || c->freed) {
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

/* Freed communicators whose exchange has ended meanwhile; or all, waiting for it. A team that was
 * never used is left at once, by every rank. */
static void sweep(bool all)
{
    struct communicator *next;
    for (struct communicator *c = take_exchanges(all); c; c = next) {
        next = c->next;
        int done = all;
        if (!all)
            host.Test(&c->request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            note_exchange(c);
            continue;
        }
        conclude(c);
        if (c->freed)
            discard(c);
    }
}

/* ---- finding and making ---- */

/* Whether it can have a team, the same on all ranks. */
static void judge(MPI_Comm comm, struct communicator *c)
{
    struct comm_properties s = {0};
    enum reason reason = comm_properties_of(comm, TEAM_RANKS_MAX, &s);
    if (reason == REASON_INTERCOMM)
        reason = intercomm_properties_of(comm, TEAM_RANKS_MAX, &s);
    c->reason = reason == REASON_COUNT ? REASON_NOT_READY : reason;
    c->size = s.size;
    c->rank = s.rank;
    c->others = s.others;
    c->neighbour = s.neighbour;
}

static bool is_alone(const struct communicator *c)
{
    return c->size == 1 && !c->others;
}

/* NULL: no memory, and nobody counts on us. */
static struct communicator *meet(MPI_Comm comm)
{
    struct communicator *c = new_communicator();
    if (c && registry_add(&communicators, BITS(comm), c, 0)) {
        c->reason = config.coll ? REASON_NOT_READY : REASON_OFF;
        if (config.coll && !node.header) /* then it costs nothing to know why */
            judge(comm, c);
        return c;
    }
    free_communicator(c);
    struct communicator known = {.reason = REASON_OFF};
    if (config.coll)
        judge(comm, &known);
    if (known.reason == REASON_NOT_READY && !is_alone(&known))
        end_job("a communicator");
    return NULL;
}

static void begin_team(MPI_Comm comm, struct communicator *c)
{
    judge(comm, c);
    if (c->reason != REASON_NOT_READY)
        return;
    if (is_alone(c)) {
        c->team = team_of_one();
        c->reason = c->team ? REASON_COUNT : REASON_NO_MEMORY;
        return;
    }
    sweep(false);
    prepare(c);
    begin(comm, c, &c->mine);
}

COLD struct team *team_not_yet(MPI_Comm comm, enum call call, bool synchronises)
{
    if (inside_host() || comm == MPI_COMM_NULL) {
        deferred(call, inside_host() ? REASON_INSIDE : REASON_ARGUMENTS);
        return NULL;
    }
    struct entry *e = registry_find(&communicators, BITS(comm));
    struct communicator *c = e ? e->object : meet(comm);
    if (!c) {
        deferred(call, REASON_NO_MEMORY);
        return NULL;
    }
    if (c->exchanging && (synchronises || c->calls == c->most))
        complete(comm, c, synchronises);
    if (!c->team && !c->across)
        deferred(call, c->reason);
    return c->team;
}

struct team *team_of_intercomm(MPI_Comm comm)
{
    struct entry *e = inside_host() ? NULL : registry_find(&communicators, BITS(comm));
    return e ? ((struct communicator *)e->object)->across : NULL;
}

/* The host has looked at the arguments and done nothing, as it seems: it may be the call of one
 * rank alone. What went wrong later (data that were too long, above all) went wrong for some ranks
 * in a call of all. */
static bool refused(int result)
{
    int class;
    if (LIKELY(result == MPI_SUCCESS) || host.Error_class(result, &class))
        return result != MPI_SUCCESS;
    return class == MPI_ERR_BUFFER || class == MPI_ERR_COUNT || class == MPI_ERR_TYPE ||
           class == MPI_ERR_COMM || class == MPI_ERR_RANK || class == MPI_ERR_ROOT ||
           class == MPI_ERR_OP || class == MPI_ERR_ARG;
}

int comm_used(MPI_Comm comm, int result)
{
    struct entry *e = refused(result) ? NULL : registry_find(&communicators, BITS(comm));
    struct communicator *c = e ? e->object : NULL;
    if (!c || c->reason != REASON_NOT_READY || inside_host())
        return result;
    if (++c->calls == CALLS_BEFORE)
        begin_team(comm, c);
    return result;
}

/* ---- freeing ---- */

/* Before the host frees it: it may give the handle to another thread's communicator at once. Also
 * where the host calls the program back, which frees what is its own. NULL: not known. */
static struct communicator *removed(const MPI_Comm *comm)
{
    if (!comm || *comm == MPI_COMM_NULL || *comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF)
        return NULL;
    return registry_remove(&communicators, BITS(*comm));
}

int accel_Comm_free(MPI_Comm *comm)
{
    persistent_forget(comm);
    struct communicator *c = removed(comm);
    if (c && c->exchanging) {
        pthread_mutex_lock(&mutex);
        c->freed = true; /* from now on it is whose who sweeps */
        pthread_mutex_unlock(&mutex);
    } else if (c) {
        discard(c);
    }
    return host.Comm_free(comm);
}

/* The host waits for what is under way, also for us to ask whether it has ended. */
int accel_Comm_disconnect(MPI_Comm *comm)
{
    persistent_forget(comm);
    struct communicator *c = removed(comm);
    if (c && c->exchanging) {
        forget_exchange(c);
        c->freed = true;
        conclude(c);
    }
    if (c)
        discard(c);
    return host.Comm_disconnect(comm);
}

void comms_close(void)
{
    sweep(true);
}
