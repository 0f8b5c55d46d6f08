/* Which MPI is in this process? */
#ifndef MPIACCEL_HOST_H
#define MPIACCEL_HOST_H

#include "core/stats.h"
#include "pmpi_wrap/calls.h"

struct shmem_host; /* shmem/shmem.h */

/* One per set of headers that this library was built with. */
struct abi {
    const char *name; /* "ompi", "mpich" */
    bool (*is_here)(void *library, const char *version);
    /* Look up the host's functions. False: some that we need are missing. */
    bool (*bind)(void *library);
    dispatch_fn *const *handlers; /* by enum call; NULL where the headers do not have it */
    /* The value of a window's predefined attribute where it differs from the host's. */
    bool (*window_attribute)(int fortran_window, int keyval, int64_t *value);
    const struct shmem_host *shmem;
};

/* The host's, once the doors are open; NULL: none that we know. */
const struct abi *host_abi(void);

extern const struct abi abi_ompi __attribute__((weak)), abi_mpich __attribute__((weak));

extern const char library_version[];
extern struct stats_host host_identity;

/* The address of a function that the host's library itself defines, not of what another library put
 * before it. NULL: it has none. */
dispatch_fn *host_function(void *library, const char *prefix, const char *name);

/* The same for calls that pass us exactly as often as the program makes them: first to a tool that
 * stands between us and the host and would otherwise miss them. */
dispatch_fn *host_onward(void *library, const char *name);

/* The next definition of a symbol after our own, wherever it is loaded. */
void *host_next(const char *symbol);

#endif
