/* The size of data that the host moves, for the statistics. */
#ifndef MPIACCEL_DATA_BYTES_H
#define MPIACCEL_DATA_BYTES_H

#include <stdint.h>

/* `datatype`: a valid MPI_Datatype as a call's argument. Returns 0 if the other rank, or the root,
 * is MPI_PROC_NULL: the call moves nothing. */
uint64_t data_bytes(int64_t count, long datatype, int rank);

#endif
