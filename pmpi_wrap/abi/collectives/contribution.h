/* The data of this rank in calls that the host performs, for the statistics. */
#ifndef MPIACCEL_CONTRIBUTION_H
#define MPIACCEL_CONTRIBUTION_H

#include "pmpi_wrap/calls.h"

#include <stdint.h>

/* `datatype`: a valid MPI_Datatype as a call's argument. Returns 0 if the other rank, or the root,
 * is MPI_PROC_NULL: the call moves nothing. */
uint64_t data_bytes(int64_t count, long datatype, int rank);

/* Call after the host has performed a call of a CONTRIBUTES line of calls.def. Returns the bytes
 * that this rank passes to the others or, in a scatter, gets from the root. With MPI_IN_PLACE these
 * are in the result buffer, except in a gather or scatter, whose root then moves none. */
uint64_t contribution(enum call call, const long arguments[]);

#endif
