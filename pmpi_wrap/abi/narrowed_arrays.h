/* As pmpi_wrap/narrowed.h, for calls with arrays of large counts, or with large results. Call after
 * host_bind(). */
#ifndef MPIACCEL_NARROWED_ARRAYS_H
#define MPIACCEL_NARROWED_ARRAYS_H

#include "pmpi_wrap/calls.h"

mpi_fn *narrowed_arrays_of(enum call call);
mpi_fn *narrowed_arrays_pmpi_of(enum call call);

#endif
