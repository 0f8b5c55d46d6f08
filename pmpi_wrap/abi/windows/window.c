#include "pmpi_wrap/abi/windows/window.h"

#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/host_wait.h"
#include "rma_shm/kept.h"

struct registry window_registry = REGISTRY_INITIALIZER;

/* The window itself stays: other ranks may still access it. */
static bool forget_window(const struct entry *e)
{
    (void)e;
    return true;
}

void windows_forget(void)
{
    registry_forget(&window_registry, forget_window);
    spanning_windows_forget();
    kept_forget();
}

int report_on_win(MPI_Win win, int error_class)
{
    host.Win_call_errhandler(win, error_class);
    return error_class;
}

COLD int report_win_error(MPI_Win win, enum win_error error)
{
    static const int class_of[] = {
        [WIN_OK] = MPI_SUCCESS,
        [WIN_ERR_RANK] = MPI_ERR_RANK,
        [WIN_ERR_SYNC] = MPI_ERR_RMA_SYNC,
        [WIN_ERR_DISP] = MPI_ERR_DISP,
        [WIN_ERR_RANGE] = MPI_ERR_RMA_RANGE,
        [WIN_ERR_TYPE] = MPI_ERR_TYPE,
        [WIN_ERR_LENGTH] = MPI_ERR_TRUNCATE,
        [WIN_ERR_MEMORY] = MPI_ERR_NO_MEM,
    };
    return error == WIN_OK ? MPI_SUCCESS : report_on_win(win, class_of[error]);
}

int member_of_target(long argument, int rank)
{
    MPI_Win handle = HANDLE_OF(MPI_Win, argument);
    const struct win *win = fast_window(handle);
    const struct spanning_window *s = win ? NULL : spanning_window_of(handle);
    if (s) {
        int peer = spanning_peer(s, rank);
        return peer < 0 ? -1 : node_owner_of(s->node->peer[peer].base);
    }
    if (!win || !node.header || rank < 0 || (uint32_t)rank >= win->size)
        return -1;
    if (win->attached)
        return node_owner_of(win->attached->peer[rank].table);
    return win->size == 1 ? (int)node.me : node_owner_of(win->peer[rank].base);
}

COLD void note_deferred_on_win(enum call call, const struct entry *entry)
{
    if (host_wait_sleeps())
        host_wait_sending(-1);
    enum reason reason =
        entry ? (enum reason)window_unpack(entry->detail).reason : REASON_HOST_WINDOW;
    if (stats_defer(call, reason) == 1)
        log_message(2, "%s is left to the host, as its window is: %s", call_names[call],
                    stats_reasons[reason]);
}
