/* The alignment of an allocation, from its info key mpi_minimum_memory_alignment (MPI-4.0, 9.2 and
 * 12.2.2). */
#ifndef MPIACCEL_ALIGNMENT_H
#define MPIACCEL_ALIGNMENT_H

#include "alloc/arena.h"
#include "pmpi_wrap/abi/host_api.h"

size_t alignment_in(MPI_Info info, int *error);

/* A power of two. `error` is set if `info` is invalid; the host has called the error handler. */
HOT_INLINE size_t alignment_of(MPI_Info info, int *error)
{
    return LIKELY(info == constants.info_null) ? ARENA_GRAIN : alignment_in(info, error);
}

#endif
