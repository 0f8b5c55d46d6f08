/* MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Session_init and MPI_Session_finalize (MPI-4.0, 11.2
 * and 11.3).
 *
 * The host is initialized while the world model or a session is open. A program may finalize it and
 * initialize it again, which only some hosts support. The node remains as it was. */
#include "pmpi_wrap/abi/life_cycle/init_finalize.h"

#include "alloc/symmetric.h"
#include "core/config.h"
#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/buffered_sends/message.h"
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/life_cycle/node_setup.h"
#include "pmpi_wrap/abi/life_cycle/statistics.h"
#include "pmpi_wrap/abi/nodes/agreement.h"
#include "pmpi_wrap/abi/nodes/hierarchy.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/host_window.h"
#include "pmpi_wrap/abi/windows/window.h"
#include "pmpi_wrap/entry.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/host_settings.h"
#include "pmpi_wrap/wait_policy.h"
#include "rma_shm/kept.h"

static struct {
    pthread_mutex_t mutex;
    _Atomic unsigned open; /* the program's sessions, and the world model */
    bool entered, was_finalized;
    _Atomic bool had_session;
} host_use = {.mutex = PTHREAD_MUTEX_INITIALIZER};

bool host_is_in_use(void)
{
    return host_use.open;
}

bool sessions_were_used(void)
{
    return host_use.had_session;
}

/* ---- initializing ---- */

/* The host may give new objects the handles of objects that the program has not freed. */
static void forget_handles(void)
{
    if (host_was_reloaded()) {
        predefined_forget();
        node_setup_host_reloaded();
    }
    dispatch_restart();
    teams_forget();
    windows_forget();
    datatypes_forget();
    persistent_forget_all();
    buffer_reopen();
}

static void before_init(bool session)
{
    pthread_mutex_lock(&host_use.mutex);
    if (!host_use.entered)
        node_setup_enter(session);
    if (!host_use.open && host_use.was_finalized)
        forget_handles();
    host_use.entered = true;
    pthread_mutex_unlock(&host_use.mutex);
}

/* Begin to use the host, which has been initialized. */
static void begin_use(bool session)
{
    pthread_mutex_lock(&host_use.mutex);
    host_use.open++;
    if (!session)
        private_comm_world_begins();
    host_settings_end();
    constants_read();
    if (world_group() == MPI_GROUP_NULL)
        abort_without_memory("a session");
    host.Group_rank(world_group(), &world_rank);
    host.Group_size(world_group(), &world_size);
    log_set_rank(world_rank);
    if (host_use.open == 1)
        statistics_begin();
    wait_policy_apply(private_comm_progress);
    free_notice_begin();
    kept_open();
    pthread_mutex_unlock(&host_use.mutex);
}

/* Whether at_finalize() will be called; otherwise end_use() does its work. MPICH calls
 * at_finalize() when the last session or the world model ends, Open MPI in MPI_Finalize. */
static bool has_delete_function;

/* Whether at_finalize() will take the steps of node_setup_finalize(). */
static bool finalizes_in_steps;

static void finish_messages(void)
{
    buffer_finish();
    free_notice_end();
    if (finalizes_in_steps)
        node_setup_finalize(FINALIZE_ENTERED);
    private_comm_free();
    if (finalizes_in_steps)
        node_setup_finalize(FINALIZE_NO_PROGRESS);
}

/* MPI_Finalize calls the delete functions of attributes of MPI_COMM_SELF, in the reverse order of
 * setting them (MPI-4.0, 11.2.4). Those of the program may receive buffered messages, send new
 * ones, make collective calls, and wait in fast calls, which drive the host's progress on
 * private_comm(). So this one, which is set first and called last, completes the exchanges of
 * teams, waits for the messages and frees the communicator. It does not free the lanes of
 * hierarchies: MPICH calls the delete functions of MPI_COMM_WORLD later, and these may still make
 * collective calls, some of which other ranks have made before MPI_Finalize. */
static int at_finalize(MPI_Comm self, int keyval, void *value, void *state)
{
    (void)self, (void)keyval, (void)value, (void)state;
    has_delete_function = false;
    host_windows_close();
    if (!host_is_in_use()) {
        teams_close();
        finish_messages();
    }
    return MPI_SUCCESS;
}

static int copy_nothing(MPI_Comm self, int keyval, void *state, void *value, void *copy,
                        int *copied)
{
    (void)self, (void)keyval, (void)state, (void)value, (void)copy;
    *copied = 0;
    return MPI_SUCCESS;
}

static void set_delete_function(void)
{
    int keyval;
    has_delete_function = false;
    if (host.Comm_create_keyval(copy_nothing, at_finalize, &keyval, NULL))
        return;
    has_delete_function = !host.Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    host.Comm_free_keyval(&keyval); /* the attribute remains */
}

static void after_init(void)
{
    int level;
    host.Query_thread(&level);
    thread_concurrent |= level == MPI_THREAD_MULTIPLE;
    set_delete_function();
    begin_use(false);
    /* Settling the node creates the communicator, too, but the node may have settled in an earlier
     * session. */
    if (!private_comm_is_of_session())
        private_comm();
    node_setup_settle(MPI_COMM_WORLD, NULL);
    nodes_agree();
}

int accel_Init(int *argc, char ***argv)
{
    before_init(false);
    nodes_enter();
    int result = host.Init(argc, argv);
    if (result == MPI_SUCCESS)
        after_init();
    return result;
}

int accel_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    before_init(false);
    nodes_enter();
    int result = host.Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        after_init();
    return result;
}

/* Threads may use several sessions at once, whatever thread level each of them has. */
int accel_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    if (inside_host())
        return host.Session_init(info, handler, session);
    before_init(true);
    host_use.had_session = true;
    thread_concurrent = true;
    int result = host.Session_init(info, handler, session);
    if (result == MPI_SUCCESS)
        begin_use(true);
    return result;
}

/* ---- finalizing ---- */

/* This library's session must be finalized before the host's MPI_Finalize. The delete functions
 * that MPI_Finalize calls may need the communicator, which cannot come from a session then. */
static void derive_from_world(void)
{
    private_comm_free();
    private_comm_world_begins();
    private_comm();
}

static void end_use(bool session)
{
    /* If at_finalize() will be called, it closes the teams: one rank may make a collective call
     * before MPI_Finalize that another rank makes in a delete function. */
    if (session || !has_delete_function)
        teams_close();
    statistics_publish();
    if (!has_delete_function)
        finish_messages();
    else if (session)
        private_comm_free();
    else if (private_comm_is_of_session())
        derive_from_world();
    host_use.was_finalized = true;
}

/* Returns whether the host will be finalized. */
static bool before_finalize(bool session)
{
    pthread_mutex_lock(&host_use.mutex);
    bool last = host_use.open <= 1;
    finalizes_in_steps = last && !session && has_delete_function;
    if ((last || !session) && !finalizes_in_steps)
        node_setup_finalize_alone();
    if (!session)
        symmetric_close();
    if (!session && !(last && has_delete_function))
        host_windows_close();
    if (last) {
        end_use(session);
    } else if (!session) {
        teams_world_ends();
        private_comm_world_ends();
    }
    host_use.open -= host_use.open > 0;
    pthread_mutex_unlock(&host_use.mutex);
    return last;
}

/* Calls that follow go to the host, which reports them. */
static void after_finalize(bool last)
{
    if (!last)
        return;
    pthread_mutex_lock(&host_use.mutex);
    if (!host_use.open) { /* another thread may have opened a session */
        private_comm_finalized();
        hierarchies_finalized();
        nodes_finalized();
        dispatch_close();
    }
    pthread_mutex_unlock(&host_use.mutex);
    statistics_print(false);
}

int accel_Finalize(void)
{
    bool last = before_finalize(false);
    int result = host.Finalize();
    /* If another thread has opened a session meanwhile, this rank has taken no steps. */
    node_setup_finalize_alone();
    if (!last)
        teams_world_ended();
    after_finalize(last);
    return result;
}

/* MPICH can be told to refuse to finalize a session that has live objects. */
int accel_Session_finalize(MPI_Session *session)
{
    if (inside_host() || !host_is_in_use())
        return host.Session_finalize(session);
    bool had_comm = private_comm_exists();
    bool last = before_finalize(true);
    int result = host.Session_finalize(session);
    if (result != MPI_SUCCESS) {
        begin_use(true);
        if (had_comm)
            private_comm();
        return result;
    }
    after_finalize(last);
    return result;
}
