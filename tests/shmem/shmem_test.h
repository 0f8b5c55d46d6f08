/* Helpers of the OpenSHMEM tests, in addition to tests/mpi/test.h. */
#ifndef SHMEM_TEST_H
#define SHMEM_TEST_H

#include "test.h"

#include <mpiaccel/shmem.h>

/* Whether all ranks have the same value. */
static inline bool same_everywhere(uint64_t value)
{
    uint64_t both[2] = {value, ~value}, least[2];
    MPI_Allreduce(both, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return least[0] == ~least[1];
}

/* Offset of a block from one that all PEs have, so that it is equal with different addresses too.
 */
static inline bool same_offset(const void *origin, const void *block)
{
    return same_everywhere((uint64_t)((const char *)block - (const char *)origin));
}

static inline void fill(unsigned char *at, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(seed * 131 + i * 7 + (i >> 8));
}

static inline bool holds(const unsigned char *at, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != (unsigned char)(seed * 131 + i * 7 + (i >> 8)))
            return false;
    return true;
}

#endif
