#include "pmpi_wrap/abi/private_comm.h"

#include "node/node.h"
#include "pmpi_wrap/host_wait.h"

#include <pthread.h>

static MPI_Comm comm;
static MPI_Request unmatched; /* a receive on `comm` that no message matches */
static MPI_Group world, of_node;
static MPI_Session session;
static bool has_session, world_model;
/* `comm` and `unmatched` exist; `world` does; `of_node` does */
static _Atomic bool exists, world_exists, of_node_exists;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- from a session ---- */

static bool group_of(const char *set, MPI_Group *group)
{
    if (!has_session)
        has_session = !host.Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    return has_session && !host.Group_from_session_pset(session, set, group);
}

static void create_comm_of_session(void)
{
    MPI_Group self;
    if (!group_of("mpi://SELF", &self))
        return;
    host.Comm_create_from_group(self, "mpiaccel", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    host.Group_free(&self);
}

/* ---- from either model ---- */

static void create_private_comm(void)
{
    enter_host();
    if (world_model) /* MPI_Comm_dup would copy, and later delete, the program's attributes. */
        host.Comm_split(MPI_COMM_SELF, 0, 0, &comm);
    else
        create_comm_of_session();
    host.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    host.Irecv(NULL, 0, constants.byte, 0, PRIVATE_COMM_PROGRESS_TAG, comm, &unmatched);
    leave_host();
}

static void create_world(void)
{
    enter_host();
    world = MPI_GROUP_NULL;
    if (world_model)
        host.Comm_group(MPI_COMM_WORLD, &world);
    else if (!group_of("mpi://WORLD", &world))
        world = MPI_GROUP_NULL;
    leave_host();
}

static void create_node_group(void)
{
    enter_host();
    if (host.Group_incl(world, node.ranks_here, node.rank_here, &of_node))
        of_node = MPI_GROUP_NULL;
    leave_host();
}

/* Release: a thread that finds an object that `create` has made finds all that belongs to it. */
static COLD void create_once(_Atomic bool *done, void (*create)(void))
{
    pthread_mutex_lock(&mutex);
    if (!atomic_load(done)) {
        create();
        atomic_store_explicit(done, true, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
}

MPI_Comm private_comm(void)
{
    if (UNLIKELY(!atomic_load_explicit(&exists, memory_order_acquire)))
        create_once(&exists, create_private_comm);
    return comm;
}

MPI_Group world_group(void)
{
    if (UNLIKELY(!atomic_load_explicit(&world_exists, memory_order_acquire)))
        create_once(&world_exists, create_world);
    return world;
}

MPI_Group node_group(void)
{
    world_group();
    if (UNLIKELY(!atomic_load_explicit(&of_node_exists, memory_order_acquire)))
        create_once(&of_node_exists, create_node_group);
    return of_node;
}

/* ---- use ---- */

/* Open MPI 4.1 has MPI_TAG_UB on MPI_COMM_WORLD only. */
int largest_tag(void)
{
    int *tag, found = 0;
    host.Comm_get_attr(world_model ? MPI_COMM_WORLD : private_comm(), MPI_TAG_UB, (void *)&tag,
                       &found);
    return found ? *tag : 0;
}

bool private_comm_exists(void)
{
    return atomic_load_explicit(&exists, memory_order_acquire);
}

static pthread_mutex_t collective_calls = PTHREAD_MUTEX_INITIALIZER;

MPI_Comm private_comm_lock(void)
{
    private_comm();
    pthread_mutex_lock(&collective_calls);
    return comm;
}

void private_comm_unlock(void)
{
    pthread_mutex_unlock(&collective_calls);
}

/* Testing the receive makes the host's progress. A probe does not: MPICH 4.0 answers it at once on
 * a communicator of one process. */
void private_comm_progress(void)
{
    int flag;
    if (!private_comm_exists())
        return;
    host_wait_suspend();
    host.Request_get_status(unmatched, &flag, MPI_STATUS_IGNORE);
    host_wait_resume();
}

int complete_request(MPI_Request *request)
{
    /* Order the loads of MPI_Rget before those that follow MPI_Wait; no instruction on x86. */
    atomic_thread_fence(memory_order_acquire);
    return host.Isend(NULL, 0, constants.byte, MPI_PROC_NULL, 0, private_comm(), request);
}

/* ---- beginning and ending ---- */

/* Objects that have been derived from a session remain in use. */
void private_comm_world_begins(void)
{
    world_model = !has_session;
}

/* Objects of the world model are abandoned, not freed: a thread that works in a session may be
 * using them at this moment. */
void private_comm_world_ends(void)
{
    if (!world_model)
        return;
    bool had_comm = private_comm_exists();
    world_model = false;
    atomic_store(&exists, false);
    atomic_store(&world_exists, false);
    atomic_store(&of_node_exists, false);
    if (had_comm)
        private_comm();
}

bool private_comm_is_of_session(void)
{
    return has_session;
}

void private_comm_free(void)
{
    if (atomic_exchange(&exists, false)) {
        host.Cancel(&unmatched);
        host.Wait(&unmatched, MPI_STATUS_IGNORE);
        host.Comm_free(&comm);
    }
    if (atomic_exchange(&of_node_exists, false) && of_node != MPI_GROUP_NULL)
        host.Group_free(&of_node);
    if (atomic_exchange(&world_exists, false) && world != MPI_GROUP_NULL)
        host.Group_free(&world);
    if (has_session)
        host.Session_finalize(&session);
    has_session = false;
}

void private_comm_finalized(void)
{
    world_model = false;
    atomic_store(&exists, false);
    atomic_store(&world_exists, false);
    atomic_store(&of_node_exists, false);
}
