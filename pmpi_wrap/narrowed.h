/* Calls with large counts, and MPI_Comm_idup_with_info, for a host that lacks them.
 *
 * A program may contain weak references to MPI_X_c, and call MPI_X if that reference is NULL, as the
 * wheels of mpi4py do with every call. It is never NULL with this library, which exports all calls.
 * So MPI_X_c does what such a program would do: it narrows the counts to int, and calls MPI_X.
 */
#ifndef MPIACCEL_NARROWED_H
#define MPIACCEL_NARROWED_H

#include "pmpi_wrap/calls.h"

/* MPI_X_c by means of MPI_X. NULL: not for this call. Those with arrays of counts depend on the ABI:
 * see abi.h. */
mpi_fn *narrowed_of(enum call call);

#endif
