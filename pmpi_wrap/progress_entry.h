/* The host's polling. */
#ifndef MPIACCEL_PROGRESS_ENTRY_H
#define MPIACCEL_PROGRESS_ENTRY_H

#include "pmpi_wrap/host_wait.h"

/* Let the host yield after every poll that finds nothing, or let it do what it did at first. If it
 * now yields because of this, returns the function that changes it. */
set_yield_fn *progress_let_host_yield(bool yield);

#endif
