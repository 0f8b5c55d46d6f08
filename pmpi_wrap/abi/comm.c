#include "pmpi_wrap/abi/comm.h"

#include "core/config.h"
#include "pmpi_wrap/abi/bsend.h"

#include <stdlib.h>

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

/* ---- the exchange ---- */

static void discard(struct communicator *c)
{
    free(c->members);
    free(c->offers);
    free(c);
}

static void note_exchange(struct communicator *c)
{
    pthread_mutex_lock(&mutex);
    c->next = exchanging;
    exchanging = c;
    pthread_mutex_unlock(&mutex);
}

static void begin(MPI_Comm comm, struct communicator *c)
{
    c->offers = malloc((size_t)c->size * sizeof *c->offers);
    if (!c->offers)
        abort(); /* the others will wait for us, and the host would not get further either */
    team_reap();
    c->prepared = team_prepare((uint32_t)c->size, (uint32_t)c->rank, c->members, &c->mine);
    free(c->members);
    c->members = NULL;
    if (gpu_runtime_loaded())
        c->mine.reason = REASON_GPU;
    enter_host();
    int result = host.Iallgather(&c->mine, sizeof c->mine, MPI_BYTE, c->offers, sizeof c->mine,
                                 MPI_BYTE, comm, &c->request);
    leave_host();
    if (result != MPI_SUCCESS) {
        team_withdraw(c->prepared, &c->mine);
        c->reason = REASON_NO_MEMORY;
        return;
    }
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

/* It is on no list. */
static void conclude(struct communicator *c)
{
    host.Wait(&c->request, MPI_STATUS_IGNORE);
    c->exchanging = false;
    c->reason = team_settle(c->prepared, c->offers, (uint32_t)c->size);
    if (c->reason == REASON_COUNT)
        c->team = c->prepared;
    else
        team_withdraw(c->prepared, &c->mine);
    c->prepared = NULL;
    free(c->offers);
    c->offers = NULL;
}

static void complete(struct communicator *c)
{
    forget_exchange(c);
    conclude(c);
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
        if (c->freed) {
            if (c->team)
                team_leave(c->team);
            discard(c);
        }
    }
}

/* ---- finding and making ---- */

static struct communicator *meet(MPI_Comm comm)
{
    struct survey s = {0};
    struct communicator *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->reason = config.coll ? survey_comm(comm, TEAM_RANKS_MAX, &s) : REASON_OFF;
    c->members = s.members;
    if (c->reason == REASON_COUNT) {
        c->reason = REASON_NOT_READY;
        c->size = s.size;
        c->rank = s.rank;
        if (s.size == 1)
            c->team = team_alone();
    }
    if (!registry_add(&communicators, BITS(comm), c, 0))
        abort();
    return c;
}

COLD struct team *team_not_yet(MPI_Comm comm, enum call call, bool synchronises)
{
    if (inside_host() || comm == MPI_COMM_NULL) {
        deferred(call, inside_host() ? REASON_INSIDE : REASON_ARGUMENTS);
        return NULL;
    }
    struct entry *e = registry_find(&communicators, BITS(comm));
    struct communicator *c = e ? e->object : meet(comm);
    if (c->exchanging && (synchronises || c->calls == CALLS_BEFORE + CALLS_DURING))
        complete(c);
    if (!c->team)
        deferred(call, c->reason);
    return c->team;
}

int comm_used(MPI_Comm comm, int result)
{
    struct entry *e = result == MPI_SUCCESS ? registry_find(&communicators, BITS(comm)) : NULL;
    struct communicator *c = e ? e->object : NULL;
    if (!c || c->reason != REASON_NOT_READY || c->size == 1 || inside_host())
        return result;
    if (++c->calls == CALLS_BEFORE) {
        sweep(false);
        begin(comm, c);
    }
    return result;
}

/* ---- freeing ---- */

/* Before the host does: it may give the handle to another thread's communicator at once. */
static void forget(const MPI_Comm *comm)
{
    if (!comm || *comm == MPI_COMM_NULL || *comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF ||
        inside_host())
        return;
    struct communicator *c = registry_remove(&communicators, BITS(*comm));
    if (!c)
        return;
    if (c->exchanging) {
        pthread_mutex_lock(&mutex);
        c->freed = true; /* from now on it is whose who sweeps */
        pthread_mutex_unlock(&mutex);
        return;
    }
    if (c->team)
        team_leave(c->team);
    discard(c);
}

int accel_Comm_free(MPI_Comm *comm)
{
    bsend_forget(comm);
    forget(comm);
    return host.Comm_free(comm);
}

int accel_Comm_disconnect(MPI_Comm *comm)
{
    bsend_drain(comm);
    forget(comm);
    return host.Comm_disconnect(comm);
}

void comms_close(void)
{
    sweep(true);
}
