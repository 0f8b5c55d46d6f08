/* Persistent buffered sends (MPI-4.0, 3.9).
 *
 * MPI_Start of one is MPI_Bsend and a request that is complete. The program has a persistent
 * request of the host's that sends nothing to nobody, which all calls on requests take (H23); what
 * to send we remember. Beside it lies the request that the host made of the program's arguments,
 * and so has judged them: it is started, and not ours, when the program has freed the communicator
 * meanwhile.
 *
 * Only where the host needs it: where it sends the wrong data, or learns late (bsend.c).
 */
#include "core/config.h"
#include "pmpi_wrap/abi/buffered_sends/bsend.h"
#include "pmpi_wrap/abi/datatypes/contents.h"

#include <limits.h>
#include <stdlib.h>

struct persistent {
    struct message message; /* its datatype is a duplicate: the program may free its own */
    MPI_Request by_host;
    bool comm_freed;
    struct persistent *next, **link; /* all of them */
};

static struct registry requests = REGISTRY_INITIALIZER;
static _Atomic uint32_t alive; /* programs without any pay for one load */
static struct persistent *all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static bool any(void)
{
    return UNLIKELY(atomic_load_explicit(&alive, memory_order_relaxed));
}

static struct persistent *find(const MPI_Request *request)
{
    struct entry *e = request ? registry_find(&requests, BITS(*request)) : NULL;
    return e ? e->object : NULL;
}

/* ---- the program's request ---- */

enum { TAG = 1 }; /* not that of the receive on that communicator which nobody answers */

/* Who must receive what it sends is this process. */
static int make_stand_in(MPI_Request *request)
{
    return host.Send_init(NULL, 0, constants.byte, HOST_STARTS_NOTHING ? MPI_PROC_NULL : 0, TAG,
                          own_comm(), request);
}

static int start_stand_in(MPI_Request *request)
{
    MPI_Request receive;
    if (HOST_STARTS_NOTHING)
        return host.Start(request);
    int result = host.Irecv(NULL, 0, constants.byte, 0, TAG, own_comm(), &receive);
    if (result != MPI_SUCCESS)
        return result;
    result = host.Start(request);
    if (result != MPI_SUCCESS)
        host.Cancel(&receive);
    host.Wait(&receive, MPI_STATUS_IGNORE);
    return result;
}

/* ---- making and freeing ---- */

static void discard(struct persistent *p)
{
    if (p->by_host != MPI_REQUEST_NULL)
        host.Request_free(&p->by_host);
    if (p->message.type != MPI_DATATYPE_NULL && !is_lasting(p->message.type))
        accel_Type_free(&p->message.type);
    free(p);
}

static void enlist(struct persistent *p)
{
    pthread_mutex_lock(&mutex);
    p->next = all;
    p->link = &all;
    if (p->next)
        p->next->link = &p->next;
    all = p;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add(&alive, 1);
}

static void delist(struct persistent *p)
{
    pthread_mutex_lock(&mutex);
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_sub(&alive, 1);
}

/* The program gets a request of ours for the host's. False, without memory: it keeps that. */
static bool take_over(const struct message *m, MPI_Request *request)
{
    struct persistent *p = malloc(sizeof *p);
    MPI_Request stand_in;
    if (!p)
        return false;
    *p = (struct persistent){.message = *m, .by_host = MPI_REQUEST_NULL};
    if (!is_lasting(m->type) && host.Type_dup(m->type, &p->message.type) != MPI_SUCCESS)
        p->message.type = MPI_DATATYPE_NULL;
    if (p->message.type == MPI_DATATYPE_NULL || make_stand_in(&stand_in) != MPI_SUCCESS) {
        discard(p);
        return false;
    }
    if (!registry_add(&requests, BITS(stand_in), p, 0)) {
        host.Request_free(&stand_in);
        discard(p);
        return false;
    }
    p->by_host = *request;
    *request = stand_in;
    enlist(p);
    return true;
}

void persistent_forget(const MPI_Comm *comm)
{
    if (!any() || !comm)
        return;
    pthread_mutex_lock(&mutex);
    for (struct persistent *p = all; p; p = p->next)
        p->comm_freed |= p->message.comm == *comm;
    pthread_mutex_unlock(&mutex);
}

static bool is_ours(const struct message *m)
{
    const struct typemap *map = typemap_of(m->type);
    return config.bsend && (uint64_t)m->count <= INT_MAX &&
           (!HOST_REPEATS_BSEND ||
            (HOST_LEARNS_LATE && map && map->size * (size_t)m->count > HOST_EAGER));
}

static int made(enum call call, const struct message *m, MPI_Request *request, int result)
{
    if (result != MPI_SUCCESS)
        deferred(call, REASON_ARGUMENTS);
    else if (is_ours(m) && take_over(m, request))
        thread_count(thread_self(), call, 0);
    else
        deferred(call, config.bsend ? REASON_HOST_MESSAGE : REASON_OFF);
    return result;
}

int accel_Bsend_init(const void *from, int count, MPI_Datatype type, int rank, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    struct message m = {from, count, type, rank, tag, comm};
    return made(CALL_Bsend_init, &m, request,
                host.Bsend_init(from, count, type, rank, tag, comm, request));
}

#if MPI_VERSION >= 4
int accel_Bsend_init_c(const void *from, MPI_Count count, MPI_Datatype type, int rank, int tag,
                       MPI_Comm comm, MPI_Request *request)
{
    struct message m = {from, count, type, rank, tag, comm};
    return made(CALL_Bsend_init_c, &m, request,
                host.Bsend_init_c(from, count, type, rank, tag, comm, request));
}
#endif

int accel_Request_free(MPI_Request *request)
{
    struct persistent *p = any() ? find(request) : NULL;
    if (p) {
        registry_remove(&requests, BITS(*request));
        delist(p);
        discard(p);
    }
    return host.Request_free(request);
}

/* ---- starting ---- */

static int send(enum call call, struct persistent *p)
{
    if (!p->comm_freed)
        return bsend_start(call, &p->message);
    deferred(call, REASON_ARGUMENTS);
    int result = host.Start(&p->by_host);
    return result == MPI_SUCCESS ? host.Wait(&p->by_host, MPI_STATUS_IGNORE) : result;
}

/* The host judges first whether the request may be started. */
static int start(enum call call, struct persistent *p, MPI_Request *request)
{
    if (!p)
        return host.Start(request);
    int result = start_stand_in(request);
    if (result != MPI_SUCCESS)
        return result;
    result = send(call, p);
    if (result != MPI_SUCCESS)
        host.Wait(request, MPI_STATUS_IGNORE);
    return result;
}

int accel_Start(MPI_Request *request)
{
    if (!any())
        return host.Start(request);
    return start(CALL_Start, find(request), request);
}

int accel_Startall(int count, MPI_Request array[])
{
    bool ours = false;
    if (any())
        for (int i = 0; array && i < count; i++)
            ours |= find(&array[i]) != NULL;
    if (!ours)
        return host.Startall(count, array);
    int result = MPI_SUCCESS;
    for (int i = 0; i < count && result == MPI_SUCCESS; i++)
        result = start(CALL_Startall, find(&array[i]), &array[i]);
    return result;
}
