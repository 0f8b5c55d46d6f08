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

static int world_rank, world_size;

static void before_init(void)
{
    struct job job;
    job_read(&job);
    rendezvous_want(symmetric_wanted(), statics_move(config.statics));
    rendezvous_enter(&job);
}

static size_t heap_limit(void)
{
    return config.heap_size ? config.heap_size : SIZE_MAX;
}

static void after_init(void)
{
    int level;
    host.Comm_rank(MPI_COMM_WORLD, &world_rank);
    host.Comm_size(MPI_COMM_WORLD, &world_size);
    host.Query_thread(&level);
    log_set_rank(world_rank);
    thread_concurrent = level == MPI_THREAD_MULTIPLE;
    constants_read();
    rendezvous_settle(world_rank, world_size);
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
    statistics_print(world_rank, world_size);
    return result;
}
