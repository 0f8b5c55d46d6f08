/* The host's polling. */
#ifndef MPIACCEL_PROGRESS_ENTRY_H
#define MPIACCEL_PROGRESS_ENTRY_H

#include "core/base.h"

/* Let the host yield after every poll that finds nothing, or let it do what it did at first.
 * Returns whether it now yields because of this. */
bool progress_let_host_yield(bool yield);

#endif
