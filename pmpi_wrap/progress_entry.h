/* The function with which the host polls for messages, ucp_worker_progress() of UCX or
 * opal_progress() of Open MPI. The library exports both, so the host calls the library first. Each
 * call is passed on to the host, and host_wait.h decides whether the thread yields or sleeps before
 * it. */
#ifndef MPIACCEL_PROGRESS_ENTRY_H
#define MPIACCEL_PROGRESS_ENTRY_H

#include "pmpi_wrap/host_wait.h"

/* Make the host yield after every poll that finds nothing, or restore what it did at first. Returns
 * the host's switch if the host now yields because of this call, otherwise NULL. */
set_yield_fn *progress_let_host_yield(bool yield);

/* Forget the next definitions, which may be unloaded: they are found again when they are called. */
void progress_forget(void);

#endif
