/* The host: the MPI library in this process, and the ABI that fits it. */
#ifndef MPIACCEL_HOST_H
#define MPIACCEL_HOST_H

#include "pmpi_wrap/abi.h"

/* The tables through which the exported calls jump, by enum call. */
struct dispatch_tables {
    mpi_fn **mpi, **pmpi;   /* targets of MPI_X and PMPI_X */
    mpi_fn **onward;        /* where a call goes on after this library: a tool, or the host */
    mpi_fn *const *counted; /* count the call and jump to `onward`; NULL: it has a handler */
};

/* Read the settings, find the host, and fill the tables. Once per process. */
void host_open(const struct dispatch_tables *tables);

/* After host_open(): NULL if there is no known host, or MPIACCEL=0. */
const struct abi *host_abi(void);

#endif
