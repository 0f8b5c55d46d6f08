/* The exported MPI calls. */
#ifndef MPIACCEL_ENTRY_H
#define MPIACCEL_ENTRY_H

#include "pmpi_wrap/abi.h"

/* Find the host and fill the dispatch tables, unless an earlier call has. False: no MPI is loaded;
 * the next call searches again. */
bool dispatch_open(void);

#endif
