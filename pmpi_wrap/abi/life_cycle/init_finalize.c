/* The process: from MPI_Init to MPI_Finalize. */
#include "alloc/arena.h"
#include "alloc/calibrate.h"
#include "alloc/node.h"
#include "alloc/statics.h"
#include "alloc/symmetric.h"
#include "core/config.h"
#include "pmpi_wrap/abi/abi.h"
#include "pmpi_wrap/abi/buffered_sends/bsend.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/windows/put_get_accumulate.h"

#include <signal.h>
#include <string.h>

struct constants constants;

static MPI_Comm private_comm;
static MPI_Request unanswered; /* a receive on it, of what nobody sends */
static _Atomic bool have_private_comm;
static int world_rank;

/* ---- the host's progress ---- */

static void make_private_comm(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!atomic_load(&have_private_comm)) {
        enter_host();
        /* Not a duplicate: that would copy, and later delete, the program's attributes. */
        host.Comm_split(MPI_COMM_SELF, 0, 0, &private_comm);
        host.Comm_set_errhandler(private_comm, MPI_ERRORS_RETURN);
        host.Irecv(NULL, 0, constants.byte, 0, 0, private_comm, &unanswered);
        leave_host();
        atomic_store_explicit(&have_private_comm, true, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
}

MPI_Comm own_comm(void)
{
    if (UNLIKELY(!atomic_load_explicit(&have_private_comm, memory_order_acquire)))
        make_private_comm();
    return private_comm;
}

/* The host looks whether the receive is complete, and so moves whatever else is on its way. Not a
 * probe: on a communicator of one process MPICH 4.0 answers that without looking further. */
static void progress(void)
{
    int flag;
    own_comm();
    host.Request_get_status(unanswered, &flag, MPI_STATUS_IGNORE);
}

int complete_request(MPI_Request *request)
{
    return host.Isend(NULL, 0, constants.byte, MPI_PROC_NULL, 0, own_comm(), request);
}

int report_anywhere(int error_class)
{
    int version, subversion;
    host.Get_version(&version, &subversion);
    host.Comm_call_errhandler(version >= 4 ? MPI_COMM_SELF : MPI_COMM_WORLD, error_class);
    return error_class;
}

/* ---- deferring ---- */

void deferred(enum call call, enum reason reason)
{
    if (stats_defer(call, reason) == 1)
        log_message(2, "%s is left to the host: %s; %s", call_names[call], stats_reasons[reason],
                    stats_advice[reason]);
}

/* ---- init ---- */

static void enter(void)
{
    struct job job;
    job_read(&job);
    node_want(symmetric_wanted(), statics_find(config.statics));
    node_enter(&job);
}

static size_t heap_limit(void)
{
    return config.heap_size ? config.heap_size : SIZE_MAX;
}

static void settle(void)
{
    int size, level;
    host.Comm_rank(MPI_COMM_WORLD, &world_rank);
    host.Comm_size(MPI_COMM_WORLD, &size);
    host.Query_thread(&level);
    log_set_rank(world_rank);
    thread_concurrent = level == MPI_THREAD_MULTIPLE;
    constants = (struct constants){.info_null = MPI_INFO_NULL,
                                   .byte = MPI_BYTE,
                                   .datatype_null = MPI_DATATYPE_NULL,
                                   .comm_null = MPI_COMM_NULL};
    node_settle(world_rank, size);
    handles_open();
    reduction_functions_open();
    sync_configure(node_oversubscribed(), NULL);
    if (node.header && !arena_open(node_slice(node.me), layout_symmetric_at(node.header),
                                   node.header->control_size, heap_limit()))
        log_message(
            1, "no memory for the shared heap's book-keeping: MPI_Alloc_mem is left to the host; "
               "lower MPIACCEL_HEAP_SIZE or lift `ulimit -v` or `-d`");
    calibrate();
    statics_move(); /* it may wait while other threads stand still: the host must not be asked */
    sync_configure(node_oversubscribed(), progress);
}

int accel_Init(int *argc, char ***argv)
{
    enter();
    int result = host.Init(argc, argv);
    if (result == MPI_SUCCESS)
        settle();
    return result;
}

int accel_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    enter();
    int result = host.Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        settle();
    return result;
}

/* ---- finalize ---- */

static struct stats_snapshot own_snapshot;

/* Before the host's Finalize, which no rank leaves before all have entered it. */
static void publish(void)
{
    struct stats_snapshot *s = node.header ? &node_member(node.me)->stats : &own_snapshot;
    struct arena_use use = arena_use();
    thread_fold_all();
    stats_take(s);
    s->heap_live = use.live;
    s->heap_peak = use.peak;
    s->heap_allocations = use.allocations;
    atomic_store_explicit(&s->complete, 1, memory_order_release);
}

/* A member's numbers; not waiting for one that has died, nor forever for one that has not called
 * Finalize: a host need not synchronise there. */
static bool await_snapshot(const struct layout_member *member)
{
    const uint64_t patience_ns = 2000000000;
    uint64_t start = sync_now_ns();
    struct sync_wait wait = SYNC_WAIT;
    while (!atomic_load_explicit(&member->stats.complete, memory_order_acquire)) {
        if (kill(member->pid, 0) || sync_now_ns() - start > patience_ns)
            return false;
        sync_pause(&wait);
    }
    return true;
}

static void print_stats(void)
{
    static struct stats_snapshot sum;
    if (!node.header)
        sum = own_snapshot;
    for (uint32_t i = 0; node.header && i < node.size; i++)
        if (await_snapshot(node_member(i)))
            stats_add(&sum, &node_member(i)->stats);
    bool text = !strcmp(config.stats, "1") || !strcmp(config.stats, "-");
    FILE *out = text ? stderr : fopen(config.stats, "we");
    if (!out) {
        log_message(0, "cannot write the statistics to %s: %m; name a file in a folder that exists",
                    config.stats);
        return;
    }
    if (text)
        stats_print_text(out, library_version, &sum, &host_identity, call_names);
    else
        stats_print_json(out, library_version, &sum, &host_identity, call_names);
    if (!text)
        fclose(out);
}

int accel_Finalize(void)
{
    bsend_finish();
    symmetric_close();
    comms_close();
    publish();
    sync_configure(node_oversubscribed(), NULL);
    if (atomic_load(&have_private_comm)) {
        atomic_store(&have_private_comm, false);
        host.Cancel(&unanswered);
        host.Wait(&unanswered, MPI_STATUS_IGNORE);
        host.Comm_free(&private_comm);
    }
    int result = host.Finalize();
    if (config.stats && world_rank == 0)
        print_stats();
    return result;
}
