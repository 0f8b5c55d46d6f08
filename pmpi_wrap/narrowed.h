/* Calls with large counts, and MPI_Comm_idup_with_info, for hosts that lack them.
 *
 * A program may contain weak references to MPI_X_c, and call MPI_X where such a reference is NULL,
 * as the wheels of mpi4py do. With this library the reference is not NULL even if the host lacks
 * MPI_X_c. So MPI_X_c then does what the program would have done: it narrows the counts to int, and
 * calls MPI_X.
 */
#ifndef MPIACCEL_NARROWED_H
#define MPIACCEL_NARROWED_H

#include "pmpi_wrap/calls.h"

/* The functions that perform MPI_X_c by calling MPI_X, and PMPI_X_c by calling PMPI_X. NULL: there
 * is none. For calls with arrays of counts see abi.h. */
mpi_fn *narrowed_of(enum call call);
mpi_fn *narrowed_pmpi_of(enum call call);

#endif
