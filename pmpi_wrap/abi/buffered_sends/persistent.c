#include "pmpi_wrap/abi/buffered_sends/persistent.h"

#include "core/config.h"
#include "pmpi_wrap/abi/datatypes/contents.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/quirks.h"

#include <stdlib.h>

struct registry persistent_registry = REGISTRY_INITIALIZER;
_Atomic uint32_t persistent_count;
static struct persistent *all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- the stand-in ---- */

enum { TAG = PRIVATE_COMM_PROGRESS_TAG + 1 };

/* The stand-in sends to MPI_PROC_NULL; with QUIRK_PROC_NULL_NEVER_ACTIVE, it sends to this process,
 * which has to receive the message. */
static int create_stand_in(struct persistent *p, MPI_Request *request)
{
    p->stand_in_comm = private_comm();
    return host.Send_init(NULL, 0, constants.byte,
                          quirk(QUIRK_PROC_NULL_NEVER_ACTIVE) ? 0 : MPI_PROC_NULL, TAG,
                          p->stand_in_comm, request);
}

static int start_stand_in(const struct persistent *p, MPI_Request *request)
{
    MPI_Request receive;
    if (!quirk(QUIRK_PROC_NULL_NEVER_ACTIVE))
        return host.Start(request);
    int result = host.Irecv(NULL, 0, constants.byte, 0, TAG, p->stand_in_comm, &receive);
    if (result != MPI_SUCCESS)
        return result;
    result = host.Start(request);
    if (result != MPI_SUCCESS)
        host.Cancel(&receive);
    host.Wait(&receive, MPI_STATUS_IGNORE);
    return result;
}

/* ---- creating and freeing ---- */

static void discard_persistent(struct persistent *p)
{
    if (p->by_host != MPI_REQUEST_NULL)
        host.Request_free(&p->by_host);
    if (p->message.type != MPI_DATATYPE_NULL && !is_permanent(p->message.type))
        accel_Type_free(&p->message.type);
    free(p);
}

static void add_to_list(struct persistent *p)
{
    pthread_mutex_lock(&mutex);
    p->next = all;
    p->link = &all;
    if (p->next)
        p->next->link = &p->next;
    all = p;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_add(&persistent_count, 1);
}

static void remove_from_list(struct persistent *p)
{
    pthread_mutex_lock(&mutex);
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    pthread_mutex_unlock(&mutex);
    atomic_fetch_sub(&persistent_count, 1);
}

/* Give the message a datatype of its own, or MPI_DATATYPE_NULL if that fails. MPI_Type_dup would
 * copy the program's attributes, which calls functions of the program. */
static void keep_type(struct message *m)
{
    MPI_Datatype copy;
    if (is_permanent(m->type))
        return;
    if (host.Type_contiguous(1, m->type, &copy) != MPI_SUCCESS)
        copy = MPI_DATATYPE_NULL;
    else if (host.Type_commit(&copy) != MPI_SUCCESS)
        host.Type_free(&copy);
    m->type = copy;
}

/* Replace the host's request by a stand-in. False: no memory, and the program keeps the host's. */
static bool replace_request(const struct message *m, MPI_Request *request)
{
    struct persistent *p = malloc(sizeof *p);
    MPI_Request stand_in;
    if (!p)
        return false;
    *p = (struct persistent){.message = *m, .by_host = MPI_REQUEST_NULL};
    keep_type(&p->message);
    if (p->message.type == MPI_DATATYPE_NULL || create_stand_in(p, &stand_in) != MPI_SUCCESS) {
        discard_persistent(p);
        return false;
    }
    persistent_forget_stale(&stand_in);
    if (!registry_add(&persistent_registry, BITS(stand_in), p, 0)) {
        host.Request_free(&stand_in);
        discard_persistent(p);
        return false;
    }
    p->by_host = *request;
    *request = stand_in;
    add_to_list(p);
    free_notice_comm(m->comm);
    return true;
}

static bool needs_stand_in(const struct message *m)
{
    if (!config.bsend || (uint64_t)m->count > INT_MAX || !node_setup_is_over())
        return false;
    return quirk(QUIRK_BSEND_INIT_SENDS_OLD_DATA) || quirk(QUIRK_BSEND_WAITS) ||
           (quirk(QUIRK_BSEND_COMPLETES_LATE) && m->bytes != UNKNOWN_BYTES &&
            m->bytes > quirk(QUIRK_EAGER_BYTES));
}

int persistent_created(enum call call, const struct message *m, MPI_Request *request, int result)
{
    if (result == MPI_SUCCESS)
        persistent_forget_stale(request);
    if (result != MPI_SUCCESS)
        note_deferred(call, REASON_ARGUMENTS);
    else if (needs_stand_in(m) && replace_request(m, request))
        thread_count(thread_self(), call, 0);
    else
        note_deferred(call, config.bsend ? REASON_HOST_MESSAGE : REASON_OFF);
    return result;
}

void persistent_free(struct persistent *p, const MPI_Request *request)
{
    registry_remove(&persistent_registry, BITS(*request));
    remove_from_list(p);
    discard_persistent(p);
}

void persistent_forget_stale(const MPI_Request *created)
{
    struct persistent *stale = persistent_find(created);
    if (stale)
        persistent_free(stale, created);
}

void persistent_forget_comm(const MPI_Comm *comm)
{
    if (!persistent_exist() || !comm)
        return;
    pthread_mutex_lock(&mutex);
    for (struct persistent *p = all; p; p = p->next)
        p->comm_freed |= p->message.comm == *comm;
    pthread_mutex_unlock(&mutex);
}

static bool forget_persistent(const struct entry *e)
{
    remove_from_list(e->object);
    free(e->object);
    return true;
}

void persistent_forget_all(void)
{
    registry_forget(&persistent_registry, forget_persistent);
}

/* ---- starting ---- */

static int send_message(enum call call, struct persistent *p)
{
    if (!p->comm_freed)
        return message_send_without_waiting(call, &p->message);
    note_deferred(call, REASON_ARGUMENTS);
    int result = host.Start(&p->by_host);
    return result == MPI_SUCCESS ? host.Wait(&p->by_host, MPI_STATUS_IGNORE) : result;
}

/* Starting the stand-in makes the host check that the request may be started. If the message is
 * refused, the stand-in is completed here or, if an error handler has left this call, at the next
 * start. */
int persistent_start(enum call call, struct persistent *p, MPI_Request *request)
{
    if (p->unsent)
        host.Wait(request, MPI_STATUS_IGNORE);
    p->unsent = false;
    int result = start_stand_in(p, request);
    if (result != MPI_SUCCESS)
        return result;
    p->unsent = true;
    result = send_message(call, p);
    p->unsent = false;
    if (result != MPI_SUCCESS)
        host.Wait(request, MPI_STATUS_IGNORE);
    return result;
}
