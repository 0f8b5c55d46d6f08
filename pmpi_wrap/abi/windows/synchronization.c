/* The synchronization of windows (MPI-4.0, 12.5): MPI_Win_fence, MPI_Win_post, _start, _complete,
 * _wait, _test, _lock, _unlock, _lock_all, _unlock_all, _flush, _flush_all, _flush_local,
 * _flush_local_all and _sync. */
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/nodes/spanning_window.h"
#include "pmpi_wrap/abi/windows/dynamic_window.h"
#include "pmpi_wrap/abi/windows/window.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/unseen_messages.h"
#include "rma_shm/sync_active.h"
#include "rma_shm/sync_passive.h"

#include <stdlib.h>

#define DEFER(name, ...)                                         \
    do {                                                         \
        note_deferred_on_win(CALL_##name, window_entry(handle)); \
        return host.name(__VA_ARGS__);                           \
    } while (0)

/* Calls with MPI_PROC_NULL have nothing to do on any window, and some hosts fail in them. */
HOT_INLINE bool targets_proc_null(int rank, MPI_Win handle)
{
    return rank == MPI_PROC_NULL && window_entry(handle);
}

/* Count the call, or report its error. */
HOT_INLINE int finish_sync(enum call call, MPI_Win handle, enum win_error error)
{
    if (UNLIKELY(error))
        return report_win_error(handle, error);
    thread_count(thread_self(), call, 0);
    return MPI_SUCCESS;
}

/* The same for a call that has waited for other ranks. */
static inline int finish_active_sync(enum call call, MPI_Win handle, enum win_error error)
{
    note_unseen_messages();
    return finish_sync(call, handle, error);
}

static COLD void note_sync(struct thread *thread, const struct win *win)
{
    uint64_t operations = 0;
    for (enum call call = CALL_Put; call <= CALL_Rget_accumulate; call++)
        operations += thread->stats.fast[call];
    for (enum call call = CALL_Put_c; call <= CALL_Rget_accumulate_c; call++)
        operations += thread->stats.fast[call];
    sync_yield_if_same(&thread->synchronised, win, operations);
    sync_progress_if_due(&thread->progress);
}

/* Count a call. A program that performs no operations between such calls polls: it loads from the
 * window's memory. */
HOT_INLINE int finish_polling_sync(enum call call, const struct win *win)
{
    struct thread *thread = thread_self();
    if (UNLIKELY(++thread->stats.fast[call] % CALLS_PER_CLOCK_READ == 0))
        note_sync(thread, win);
    return MPI_SUCCESS;
}

/* ---- dynamic windows ----
 *
 * A call that ends an access epoch first ends the epochs of the host's window. After an error of
 * the host it continues, since other ranks wait for it. */

/* Whether the host's window may be in an epoch. */
HOT_INLINE bool used_below(const struct win *win)
{
    return UNLIKELY(atomic_load_explicit(&win->epochs_below, memory_order_relaxed) != 0);
}

/* `ends`: the call ends the current access epoch. Returns the result of the host. */
HOT_INLINE int end_below(struct win *win, bool ends, int rank)
{
    return used_below(win) && ends ? dynamic_window_close(win, rank) : MPI_SUCCESS;
}

static int first_error(int below, int result)
{
    return UNLIKELY(below) ? below : result;
}

/* Flush a window on which operations have been left to the host. */
static COLD int flush_both(struct win *win, enum call call, int rank, MPI_Win handle)
{
    bool local = call == CALL_Win_flush_local || call == CALL_Win_flush_local_all;
    int below = dynamic_window_flush(win, rank, local);
    win_complete_operations(win);
    return first_error(below, finish_sync(call, handle, WIN_OK));
}

/* ---- active target ---- */

enum {
    FENCE_ASSERTIONS = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
    POST_ASSERTIONS = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
};

int accel_Win_fence(int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_fence, assertion, handle);
    if (UNLIKELY(assertion & ~FENCE_ASSERTIONS))
        return report_on_win(handle, MPI_ERR_ASSERT);
    int below = end_below(win, win_idle(win), ALL_RANKS);
    enum win_error error = win_fence(win, assertion & MPI_MODE_NOSUCCEED);
    return first_error(below, finish_active_sync(CALL_Win_fence, handle, error));
}

/* The ranks of a group as ranks in the window; the caller frees them. NULL and the class of the
 * error. */
static int *window_ranks(MPI_Win handle, MPI_Group group, int *count, int *class)
{
    *class = MPI_ERR_GROUP;
    if (group == MPI_GROUP_NULL || !BITS(group) || host.Group_size(group, count))
        return NULL;
    int n = *count, *ranks = malloc((2 * (size_t)n + 1) * sizeof *ranks);
    *class = MPI_ERR_NO_MEM;
    if (!ranks)
        return NULL;
    int *own = ranks + n;
    for (int i = 0; i < n; i++)
        own[i] = i;
    MPI_Group window_group;
    host.Win_get_group(handle, &window_group);
    host.Group_translate_ranks(group, n, own, window_group, ranks);
    host.Group_free(&window_group);
    for (int i = 0; i < n; i++)
        if (ranks[i] == MPI_UNDEFINED) {
            *class = MPI_ERR_GROUP;
            free(ranks);
            return NULL;
        }
    return ranks;
}

int accel_Win_post(MPI_Group group, int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_post, group, assertion, handle);
    if (UNLIKELY(assertion & ~POST_ASSERTIONS))
        return report_on_win(handle, MPI_ERR_ASSERT);
    int count, class, *ranks = window_ranks(handle, group, &count, &class);
    if (!ranks)
        return report_on_win(handle, class);
    enum win_error error = win_post(win, ranks, (uint32_t)count);
    free(ranks);
    return finish_sync(CALL_Win_post, handle, error);
}

int accel_Win_start(MPI_Group group, int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_start, group, assertion, handle);
    if (UNLIKELY(assertion & ~MPI_MODE_NOCHECK))
        return report_on_win(handle, MPI_ERR_ASSERT);
    int count, class, *ranks = window_ranks(handle, group, &count, &class);
    if (!ranks)
        return report_on_win(handle, class);
    enum win_error error = win_start(win, ranks, (uint32_t)count);
    free(ranks);
    return finish_sync(CALL_Win_start, handle, error);
}

int accel_Win_complete(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_complete, handle);
    int below = end_below(win, win->epochs & WIN_START, ALL_RANKS);
    return first_error(below, finish_active_sync(CALL_Win_complete, handle, win_complete(win)));
}

int accel_Win_wait(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_wait, handle);
    return finish_active_sync(CALL_Win_wait, handle, win_wait(win));
}

int accel_Win_test(MPI_Win handle, int *flag)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_test, handle, flag);
    bool complete = false;
    enum win_error error = win_test(win, &complete);
    *flag = complete;
    return finish_active_sync(CALL_Win_test, handle, error);
}

/* ---- passive target ---- */

/* MPI_SUCCESS, or the class of the error. */
static int check_lock_arguments(const struct win *win, int type, int rank, int assertion)
{
    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)
        return MPI_ERR_LOCKTYPE;
    if (rank != MPI_PROC_NULL && (uint32_t)rank >= win->size)
        return MPI_ERR_RANK;
    return assertion & ~MPI_MODE_NOCHECK ? MPI_ERR_ASSERT : MPI_SUCCESS;
}

int accel_Win_lock(int type, int rank, int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !targets_proc_null(rank, handle)) {
        note_deferred_on_win(CALL_Win_lock, window_entry(handle));
        return spanning_locked(handle, rank, host.Win_lock(type, rank, assertion, handle));
    }
    int class = check_lock_arguments(win, type, rank, assertion);
    if (UNLIKELY(class))
        return report_on_win(handle, class);
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish_sync(CALL_Win_lock, handle, WIN_OK);
    enum win_lock kind = assertion & MPI_MODE_NOCHECK ? WIN_NOCHECK
                         : type == MPI_LOCK_EXCLUSIVE ? WIN_EXCLUSIVE
                                                      : WIN_SHARED;
    return finish_sync(CALL_Win_lock, handle, win_lock(win, kind, (uint32_t)rank));
}

int accel_Win_unlock(int rank, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !targets_proc_null(rank, handle)) {
        note_deferred_on_win(CALL_Win_unlock, window_entry(handle));
        spanning_unlock(handle, rank);
        return spanning_unlocked(handle, host.Win_unlock(rank, handle));
    }
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish_sync(CALL_Win_unlock, handle, WIN_OK);
    if (UNLIKELY((uint32_t)rank >= win->size))
        return report_win_error(handle, WIN_ERR_RANK);
    int below = end_below(win, win->peer[rank].lock, rank);
    enum win_error error = win_unlock(win, (uint32_t)rank);
    return first_error(below, LIKELY(!error) ? finish_polling_sync(CALL_Win_unlock, win)
                                             : report_win_error(handle, error));
}

int accel_Win_lock_all(int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win)) {
        note_deferred_on_win(CALL_Win_lock_all, window_entry(handle));
        return spanning_locked(handle, ALL_RANKS, host.Win_lock_all(assertion, handle));
    }
    if (UNLIKELY(assertion & ~MPI_MODE_NOCHECK))
        return report_on_win(handle, MPI_ERR_ASSERT);
    return finish_sync(CALL_Win_lock_all, handle, win_lock_all(win, assertion & MPI_MODE_NOCHECK));
}

int accel_Win_unlock_all(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win)) {
        note_deferred_on_win(CALL_Win_unlock_all, window_entry(handle));
        spanning_unlock(handle, ALL_RANKS);
        return spanning_unlocked(handle, host.Win_unlock_all(handle));
    }
    int below = end_below(win, win->epochs & WIN_LOCK_ALL, ALL_RANKS);
    return first_error(below, finish_sync(CALL_Win_unlock_all, handle, win_unlock_all(win)));
}

/* A window that spans nodes may need no flush of the host. */
static COLD int defer_flush(enum call call, int rank, MPI_Win handle)
{
    if (spanning_complete(handle, rank))
        return finish_sync(call, handle, WIN_OK);
    note_deferred_on_win(call, window_entry(handle));
    return DEFERRED;
}

/* Whether a flush is no error although no passive epoch is open towards the target, or the target
 * is no rank. */
static COLD bool tolerates_flush(const struct win *win, bool is_rank)
{
    return win->lenient || (is_rank && win_admits_in_locks(win));
}

/* Operations are complete at the origin when they return; a flush makes the stores visible at the
 * target before anything that follows. */
HOT_INLINE int flush(enum call call, int rank, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !targets_proc_null(rank, handle))
        return defer_flush(call, rank, handle);
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish_sync(call, handle, WIN_OK);
    bool is_rank = (uint32_t)rank < win->size;
    if (UNLIKELY(!is_rank || !win_passive(win, (uint32_t)rank)) && !tolerates_flush(win, is_rank))
        return report_win_error(handle, is_rank ? WIN_ERR_SYNC : WIN_ERR_RANK);
    if (used_below(win))
        return flush_both(win, call, rank, handle);
    win_complete_operations(win);
    return finish_sync(call, handle, WIN_OK);
}

HOT_INLINE int flush_all(enum call call, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        return defer_flush(call, ALL_RANKS, handle);
    if (UNLIKELY(!win_passive_any(win)) && !win->lenient)
        return report_win_error(handle, WIN_ERR_SYNC);
    if (used_below(win))
        return flush_both(win, call, ALL_RANKS, handle);
    win_complete_operations(win);
    return finish_sync(call, handle, WIN_OK);
}

int accel_Win_flush(int rank, MPI_Win handle)
{
    return OR_HOST(flush(CALL_Win_flush, rank, handle),
                   spanning_flushed(handle, rank, host.Win_flush(rank, handle)));
}

int accel_Win_flush_local(int rank, MPI_Win handle)
{
    return OR_HOST(flush(CALL_Win_flush_local, rank, handle), host.Win_flush_local(rank, handle));
}

int accel_Win_flush_all(MPI_Win handle)
{
    return OR_HOST(flush_all(CALL_Win_flush_all, handle),
                   spanning_flushed(handle, ALL_RANKS, host.Win_flush_all(handle)));
}

int accel_Win_flush_local_all(MPI_Win handle)
{
    return OR_HOST(flush_all(CALL_Win_flush_local_all, handle), host.Win_flush_local_all(handle));
}

/* A rank that polls its own memory calls this. Every so many counted calls drive the host's
 * progress (H10: polling by calls that never wait). */
int accel_Win_sync(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win)) {
        spanning_complete(handle, ALL_RANKS);
        DEFER(Win_sync, handle);
    }
    if (UNLIKELY(!win_passive_any(win)) && quirk(QUIRK_SYNC_NEEDS_LOCK))
        return report_win_error(handle, WIN_ERR_SYNC);
    atomic_store_explicit(&win->written, 0, memory_order_relaxed);
    /* Order all earlier loads and stores of this rank before its later ones: this rank sees what
     * other ranks have stored before, and they see its own stores. */
    sync_full_fence();
    return finish_polling_sync(CALL_Win_sync, win);
}
