/* One set of MPI headers that this library was built with. */
#ifndef MPIACCEL_ABI_H
#define MPIACCEL_ABI_H

#include "pmpi_wrap/calls.h"

struct shmem_host; /* shmem/shmem.h */

struct abi {
    const char *name; /* "ompi", "mpich" */

    /* Is the library with this version text (MPI_Get_library_version) of this ABI? */
    bool (*matches)(void *library, const char *version);

    /* Look up the host's functions. `exported`: the calls as the program makes them, by enum call.
     * False: a function that we need is missing. */
    bool (*bind)(void *library, mpi_fn *const *exported);

    mpi_fn *const *handlers; /* by enum call; NULL: the headers do not have the call */

    /* The value of a window's predefined attribute. False: it is the same as the host's. */
    bool (*fortran_window_attribute)(int window, int keyval, int64_t *value);

    const struct shmem_host *shmem;
};

/* NULL: not built for this ABI. */
extern const struct abi abi_ompi __attribute__((weak)), abi_mpich __attribute__((weak));

#endif
