/* MPI_Init, MPI_Init_thread and MPI_Finalize (MPI-4.0, 11.2). */
#include "alloc/arena.h"
#include "alloc/calibrate.h"
#include "alloc/node.h"
#include "alloc/rendezvous.h"
#include "alloc/statics.h"
#include "alloc/symmetric.h"
#include "alloc/vm_copy.h"
#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/abi/buffered_sends/buffer.h"
#include "pmpi_wrap/abi/communicators/team_setup.h"
#include "pmpi_wrap/abi/datatypes/predefined.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/life_cycle/statistics.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/operation.h"
#include "pmpi_wrap/host.h"

static int world_rank;

static void before_init(void)
{
    struct job job;
    host_job(&job);
    rendezvous_want(symmetric_wanted(), statics_move(config.statics));
    rendezvous_enter(&job);
}

/* In MPI_Init no other message of this library or the program is under way between two ranks, so
 * any tag will do. If the message does not come, the receive remains, for one that comes later. */
static bool exchange(int to, int from, uint64_t sent, uint64_t *received)
{
    enum { TAG = 1 };
    static const uint64_t patience_ns = UINT64_C(10000000000);
    static uint64_t out, in;
    MPI_Request request[2];
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    int arrived = 0, gone = 0;
    /* Hosts connect two ranks when they first communicate, and need both of them for that. */
    sync_configure(false, private_comm_progress);
    out = sent;
    host.Irecv(&in, sizeof in, constants.byte, from, TAG, MPI_COMM_WORLD, &request[0]);
    host.Isend(&out, sizeof out, constants.byte, to, TAG, MPI_COMM_WORLD, &request[1]);
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

static size_t heap_limit(void)
{
    return config.heap_size ? config.heap_size : SIZE_MAX;
}

static void after_init(void)
{
    int size, level;
    host.Comm_rank(MPI_COMM_WORLD, &world_rank);
    host.Comm_size(MPI_COMM_WORLD, &size);
    host.Query_thread(&level);
    log_set_rank(world_rank);
    thread_concurrent = level == MPI_THREAD_MULTIPLE;
    constants_read();
    rendezvous_settle(world_rank, size, exchange);
    vm_copy_open();
    statics_open();
    predefined_open();
    reduction_functions_open();
    sync_configure(node_oversubscribed(), NULL);
    if (node.header && !arena_open(node_slice(node.me), layout_symmetric_at(node.header),
                                   node.header->control_size, heap_limit()))
        log_message(
            1, "no memory for the shared heap's book-keeping: MPI_Alloc_mem is left to the host; "
               "lower MPIACCEL_HEAP_SIZE or lift `ulimit -v` or `-d`");
    calibrate();
    sync_configure(node_oversubscribed(), private_comm_progress);
}

int accel_Init(int *argc, char ***argv)
{
    before_init();
    int result = host.Init(argc, argv);
    if (result == MPI_SUCCESS)
        after_init();
    return result;
}

int accel_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    before_init();
    int result = host.Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS)
        after_init();
    return result;
}

int accel_Finalize(void)
{
    buffer_finish();
    symmetric_close();
    teams_close();
    statistics_publish();
    sync_configure(node_oversubscribed(), NULL);
    private_comm_free();
    int result = host.Finalize();
    if (config.stats && world_rank == 0)
        statistics_print();
    return result;
}
