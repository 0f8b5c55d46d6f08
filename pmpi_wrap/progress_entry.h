/* The host's polling. */
#ifndef MPIACCEL_PROGRESS_ENTRY_H
#define MPIACCEL_PROGRESS_ENTRY_H

#include "pmpi_wrap/host_wait.h"

/* Make the host yield after every poll that finds nothing, or restore what it did at first. Returns
 * the host's switch if the host now yields because of this call, otherwise NULL. */
set_yield_fn *progress_let_host_yield(bool yield);

/* Forget the next definitions, which may be unloaded: they are found again when they are called. */
void progress_forget(void);

#endif
