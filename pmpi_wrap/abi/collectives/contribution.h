/* The data of this rank in nonblocking and neighbourhood collectives, for the statistics. */
#ifndef MPIACCEL_CONTRIBUTION_H
#define MPIACCEL_CONTRIBUTION_H

#include "pmpi_wrap/calls.h"

#include <stdint.h>

/* Call after the host has performed a call of a CONTRIBUTES line of calls.def. Returns the bytes
 * that this rank passes to the others or, in a scatter, gets from the root. With MPI_IN_PLACE these
 * are in the result buffer, except in a gather or scatter, whose root then moves none. */
uint64_t contribution(enum call call, const long arguments[]);

#endif
