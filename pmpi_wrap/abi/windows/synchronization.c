/* Synchronisation (MPI-4.0, 12.5): translate, ask, do or defer. */
#include "rma_shm/sync_active.h"
#include "rma_shm/sync_passive.h"

#include "pmpi_wrap/abi/abi.h"

#include <stdlib.h>

#define DEFER(name, ...)                  \
    do {                                  \
        deferred_on(CALL_##name, handle); \
        return host.name(__VA_ARGS__);    \
    } while (0)

/* Towards nobody there is nothing to do, whoever's the window is; and some hosts fail at it. */
HOT_INLINE bool towards_nobody(int rank, MPI_Win handle)
{
    return rank == MPI_PROC_NULL && registry_find(&windows, BITS(handle));
}

/* Report, or count. */
HOT_INLINE int finish(enum call call, MPI_Win handle, enum win_error error)
{
    if (UNLIKELY(error))
        return report(handle, error);
    thread_count(thread_self(), call, 0);
    return MPI_SUCCESS;
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
        return report_class(handle, MPI_ERR_ASSERT);
    return finish(CALL_Win_fence, handle, win_fence(win, assertion & MPI_MODE_NOSUCCEED));
}

/* The ranks of a group as ranks in the window, to be freed; NULL and what is wrong. */
static int *window_ranks(MPI_Win handle, MPI_Group group, int *count, int *wrong)
{
    *wrong = MPI_ERR_GROUP;
    if (group == MPI_GROUP_NULL || host.Group_size(group, count))
        return NULL;
    int n = *count, *ranks = malloc((2 * (size_t)n + 1) * sizeof *ranks);
    *wrong = MPI_ERR_NO_MEM;
    if (!ranks)
        return NULL;
    int *own = ranks + n;
    for (int i = 0; i < n; i++)
        own[i] = i;
    MPI_Group whole;
    host.Win_get_group(handle, &whole);
    host.Group_translate_ranks(group, n, own, whole, ranks);
    host.Group_free(&whole);
    for (int i = 0; i < n; i++)
        if (ranks[i] == MPI_UNDEFINED) {
            *wrong = MPI_ERR_GROUP;
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
        return report_class(handle, MPI_ERR_ASSERT);
    int count, wrong, *ranks = window_ranks(handle, group, &count, &wrong);
    if (!ranks)
        return report_class(handle, wrong);
    enum win_error error = win_post(win, ranks, (uint32_t)count);
    free(ranks);
    return finish(CALL_Win_post, handle, error);
}

int accel_Win_start(MPI_Group group, int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_start, group, assertion, handle);
    if (UNLIKELY(assertion & ~MPI_MODE_NOCHECK))
        return report_class(handle, MPI_ERR_ASSERT);
    int count, wrong, *ranks = window_ranks(handle, group, &count, &wrong);
    if (!ranks)
        return report_class(handle, wrong);
    enum win_error error = win_start(win, ranks, (uint32_t)count);
    free(ranks);
    return finish(CALL_Win_start, handle, error);
}

int accel_Win_complete(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_complete, handle);
    return finish(CALL_Win_complete, handle, win_complete(win));
}

int accel_Win_wait(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_wait, handle);
    return finish(CALL_Win_wait, handle, win_wait(win));
}

int accel_Win_test(MPI_Win handle, int *flag)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_test, handle, flag);
    bool done = false;
    enum win_error error = win_test(win, &done);
    *flag = done;
    return finish(CALL_Win_test, handle, error);
}

/* ---- passive target ---- */

/* The class of what is wrong with the arguments, or MPI_SUCCESS. */
static int judge_lock(const struct win *win, int type, int rank, int assertion)
{
    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)
        return MPI_ERR_LOCKTYPE;
    if ((uint32_t)rank >= win->size)
        return MPI_ERR_RANK;
    return assertion & ~MPI_MODE_NOCHECK ? MPI_ERR_ASSERT : MPI_SUCCESS;
}

int accel_Win_lock(int type, int rank, int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !towards_nobody(rank, handle))
        DEFER(Win_lock, type, rank, assertion, handle);
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish(CALL_Win_lock, handle, WIN_OK);
    int wrong = judge_lock(win, type, rank, assertion);
    if (UNLIKELY(wrong))
        return report_class(handle, wrong);
    enum win_lock kind = assertion & MPI_MODE_NOCHECK ? WIN_NOCHECK
                         : type == MPI_LOCK_EXCLUSIVE ? WIN_EXCLUSIVE
                                                      : WIN_SHARED;
    return finish(CALL_Win_lock, handle, win_lock(win, kind, (uint32_t)rank));
}

int accel_Win_unlock(int rank, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !towards_nobody(rank, handle))
        DEFER(Win_unlock, rank, handle);
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish(CALL_Win_unlock, handle, WIN_OK);
    if (UNLIKELY((uint32_t)rank >= win->size))
        return report(handle, WIN_ERR_RANK);
    return finish(CALL_Win_unlock, handle, win_unlock(win, (uint32_t)rank));
}

int accel_Win_lock_all(int assertion, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_lock_all, assertion, handle);
    if (UNLIKELY(assertion & ~MPI_MODE_NOCHECK))
        return report_class(handle, MPI_ERR_ASSERT);
    return finish(CALL_Win_lock_all, handle, win_lock_all(win, assertion & MPI_MODE_NOCHECK));
}

int accel_Win_unlock_all(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_unlock_all, handle);
    return finish(CALL_Win_unlock_all, handle, win_unlock_all(win));
}

/* Operations are complete at the origin when they return; a flush makes the stores visible at the
 * target before anything that follows. */
HOT_INLINE int flush(struct win *win, int rank, enum call call, MPI_Win handle)
{
    if (UNLIKELY((uint32_t)rank >= win->size))
        return report(handle, WIN_ERR_RANK);
    if (UNLIKELY(!win_passive(win, (uint32_t)rank)))
        return report(handle, WIN_ERR_SYNC);
    win_complete_stores(win);
    return finish(call, handle, WIN_OK);
}

HOT_INLINE int flush_all(struct win *win, enum call call, MPI_Win handle)
{
    if (UNLIKELY(!win_passive_any(win)))
        return report(handle, WIN_ERR_SYNC);
    win_complete_stores(win);
    return finish(call, handle, WIN_OK);
}

int accel_Win_flush(int rank, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !towards_nobody(rank, handle))
        DEFER(Win_flush, rank, handle);
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish(CALL_Win_flush, handle, WIN_OK);
    return flush(win, rank, CALL_Win_flush, handle);
}

int accel_Win_flush_local(int rank, MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win) && !towards_nobody(rank, handle))
        DEFER(Win_flush_local, rank, handle);
    if (UNLIKELY(rank == MPI_PROC_NULL))
        return finish(CALL_Win_flush_local, handle, WIN_OK);
    return flush(win, rank, CALL_Win_flush_local, handle);
}

int accel_Win_flush_all(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_flush_all, handle);
    return flush_all(win, CALL_Win_flush_all, handle);
}

int accel_Win_flush_local_all(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_flush_local_all, handle);
    return flush_all(win, CALL_Win_flush_local_all, handle);
}

/* Also what a rank calls that polls its own memory (H10); finish() counts, and counting gives the
 * host its turn. */
int accel_Win_sync(MPI_Win handle)
{
    struct win *win = fast_window(handle);
    if (UNLIKELY(!win))
        DEFER(Win_sync, handle);
    atomic_store_explicit(&win->written, 0, memory_order_relaxed);
    sync_full_fence();
    return finish(CALL_Win_sync, handle, WIN_OK);
}
