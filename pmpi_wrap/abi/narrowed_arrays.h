#ifndef MPIACCEL_NARROWED_ARRAYS_H
#define MPIACCEL_NARROWED_ARRAYS_H

#include "pmpi_wrap/calls.h"

/* As narrowed_of(), for the calls that depend on the ABI. Call after host_bind(). */
mpi_fn *narrowed_arrays_of(enum call call);

#endif
