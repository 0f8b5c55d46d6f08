/* MPI as the OpenSHMEM calls need it. */
#ifndef MPIACCEL_SHMEM_MPI_CALLS_H
#define MPIACCEL_SHMEM_MPI_CALLS_H

#include "shmem/shmem.h"

extern const struct shmem_host shmem_mpi_calls;

#endif
