/* The functions with which hosts poll: ucp_worker_progress of UCX, with which MPICH polls, and
 * opal_progress of Open MPI (pmpi_wrap/host_wait.h).
 *
 * Without oversubscription, and in a process without MPI, they merely call the next definition (H1:
 * loaded into processes without MPI).
 */
#include "pmpi_wrap/progress_entry.h"

#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/symbols.h"

#define EXPORT __attribute__((visibility("default")))

typedef unsigned worker_progress_fn(void *);
typedef int opal_progress_fn(void);

/* The next definitions. The functions first_...() find them when a host first polls. */
static worker_progress_fn first_worker_progress, *next_worker_progress = first_worker_progress;
static opal_progress_fn first_opal_progress, *next_opal_progress = first_opal_progress;

/* Threads that search at the same time find the same definition. */
static COLD unsigned first_worker_progress(void *worker)
{
    worker_progress_fn *found = (worker_progress_fn *)symbol_next("ucp_worker_progress");
    __atomic_store_n(&next_worker_progress, found, __ATOMIC_RELAXED);
    return found(worker);
}

static COLD int first_opal_progress(void)
{
    opal_progress_fn *found = (opal_progress_fn *)symbol_next("opal_progress");
    __atomic_store_n(&next_opal_progress, found, __ATOMIC_RELAXED);
    return found();
}

static NOINLINE COLD unsigned poll_worker(worker_progress_fn *next, void *worker)
{
    host_wait_before_poll(false);
    unsigned count = next(worker);
    host_wait_polled(count, false);
    return count;
}

/* Not every release returns how much progress was made. Open MPI may poll with UCX, too, which is
 * then a part of this poll. */
static NOINLINE COLD int poll_opal(opal_progress_fn *next)
{
    host_wait_before_poll(true);
    int count = next();
    host_wait_polled(false, true);
    return count;
}

void progress_forget(void)
{
    __atomic_store_n(&next_worker_progress, first_worker_progress, __ATOMIC_RELAXED);
    __atomic_store_n(&next_opal_progress, first_opal_progress, __ATOMIC_RELAXED);
}

set_yield_fn *progress_let_host_yield(bool yield)
{
    static bool known, before;
    set_yield_fn *set = (set_yield_fn *)symbol_next("opal_progress_set_yield_when_idle");
    if (!set)
        return NULL;
    bool last = set(yield || before);
    if (!known)
        before = last;
    known = true;
    return yield ? set : NULL;
}

EXPORT unsigned ucp_worker_progress(void *worker);
EXPORT int opal_progress(void);

unsigned ucp_worker_progress(void *worker)
{
    worker_progress_fn *next = __atomic_load_n(&next_worker_progress, __ATOMIC_RELAXED);
    return host_wait_ignores_poll() ? next(worker) : poll_worker(next, worker);
}

int opal_progress(void)
{
    opal_progress_fn *next = __atomic_load_n(&next_opal_progress, __ATOMIC_RELAXED);
    return host_wait_ignores_poll() ? next() : poll_opal(next);
}
