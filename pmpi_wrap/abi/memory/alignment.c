#include "pmpi_wrap/abi/memory/alignment.h"

#include <stdlib.h>

/* Other keys, and values that are no power of two, are ignored. */
COLD size_t alignment_in(MPI_Info info, int *error)
{
    char value[MPI_MAX_INFO_VAL + 1]; /* MPICH refuses to return a part of a value */
    int flag = 0;                     /* if `info` is invalid, the host does not set it */
    if (info == MPI_INFO_NULL)        /* before MPI_Init, when `constants` are not set */
        return ARENA_GRAIN;
    *error = host.Info_get(info, "mpi_minimum_memory_alignment", sizeof value - 1, value, &flag);
    size_t align = flag ? strtoul(value, NULL, 10) : 0;
    bool power_of_two = align && !(align & (align - 1));
    return power_of_two ? align : ARENA_GRAIN;
}
