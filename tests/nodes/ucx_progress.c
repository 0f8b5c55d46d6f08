/* Loaded into the ranks of MPICH over UCX, so that jobs on two nodes end, and soon.
 *
 * - Before MPICH 4.2, a rank whose connections are closed waits in the PMI barrier of MPI_Finalize
 *   without progress, for others that wait for its answer to close theirs: about every second job
 *   of 4 ranks hangs (upstream pull request 6596). Here it calls UCX while it waits.
 * - MPICH polls. Where ranks share a processor, a message takes a time slice. Here a rank that has
 *   polled in vain yields.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static void *worker; /* the one that was created last */

int ucp_worker_create(void *context, const void *parameters, void **result)
{
    int (*next)(void *, const void *, void **) = dlsym(RTLD_NEXT, "ucp_worker_create");
    int status = next(context, parameters, result);
    worker = status ? NULL : *result;
    return status;
}

void ucp_worker_destroy(void *destroyed)
{
    void (*next)(void *) = dlsym(RTLD_NEXT, "ucp_worker_destroy");
    worker = NULL;
    next(destroyed);
}

unsigned ucp_worker_progress(void *polled)
{
    static unsigned (*next)(void *);
    if (!next)
        next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned events = next(polled);
    if (!events)
        sched_yield();
    return events;
}

/* MPICH calls this for the answers of its launcher. */
ssize_t read(int file, void *buffer, size_t size)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "read");
    const char *launcher = getenv("PMI_FD");
    if (worker && launcher && atoi(launcher) == file) {
        struct pollfd answer = {.fd = file, .events = POLLIN};
        while (!poll(&answer, 1, 1))
            ucp_worker_progress(worker);
    }
    return next(file, buffer, size);
}
