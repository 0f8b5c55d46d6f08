/* The exported MPI calls. */
#ifndef MPIACCEL_ENTRY_H
#define MPIACCEL_ENTRY_H

#include "pmpi_wrap/abi.h"

/* Find the host and fill the dispatch tables, unless an earlier call has. False: no MPI is loaded;
 * the next call searches again. */
bool dispatch_open(void);

/* Call when the host has been finalized, and may be unloaded. Empties the tables, so that the next
 * call finds the host again, or another one. */
void dispatch_close(void);

/* Call when a host that has been finalized is initialized again. Fills the tables with the
 * handlers. */
void dispatch_restart(void);

#endif
