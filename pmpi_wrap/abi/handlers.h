/* The handlers: accel_X implements MPI_X, with the type that the headers give it. */
#ifndef MPIACCEL_HANDLERS_H
#define MPIACCEL_HANDLERS_H

#include "pmpi_wrap/abi/host_api.h"

#define CALL(name, arguments) __typeof__(PMPI_##name) accel_##name;
#define HOST(name, arguments)
#include "pmpi_wrap/calls.def"

#endif
