/* The exported MPI calls. */
#ifndef MPIACCEL_ENTRY_H
#define MPIACCEL_ENTRY_H

#include "pmpi_wrap/abi.h"

/* Find the host and fill the dispatch tables, unless an earlier call has. False: no MPI is loaded;
 * the next call searches again. */
bool dispatch_open(void);

/* The host has been finalized, and may be unloaded: empty the tables, so that the next call finds
 * the host again, or another one. */
void dispatch_close(void);

/* The host that has been finalized is initialized again: fill the tables with the handlers. */
void dispatch_restart(void);

#endif
