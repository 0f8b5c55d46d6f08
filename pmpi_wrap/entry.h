/* The exported MPI calls. */
#ifndef MPIACCEL_ENTRY_H
#define MPIACCEL_ENTRY_H

#include "pmpi_wrap/abi.h"

/* Find the host and fill the dispatch tables, unless an earlier call has. Returns host_abi(). */
const struct abi *dispatch_open(void);

#endif
