/* One ABI of MPI: the handlers compiled with its headers. */
#ifndef MPIACCEL_ABI_H
#define MPIACCEL_ABI_H

#include "pmpi_wrap/calls.h"
#include "pmpi_wrap/host_identity.h"

struct shmem_host; /* shmem/shmem.h */

struct abi {
    const char *name; /* "ompi", "mpich", "standard" */

    /* Whether the library has this ABI. The caller has already separated libmpi_abi from libraries
     * with an MPI's own ABI. */
    bool (*matches)(void *library, enum host_family family);

    /* Look up the host's functions. `exported` contains the calls as the program makes them, by
     * enum call. Returns false if a function that the library needs is missing. */
    bool (*bind)(void *library, mpi_fn *const *exported);

    /* The handler of a call, or NULL if the headers do not have the call. Here and elsewhere,
     * functions take the place of tables of addresses, which the loader would have to relocate in
     * every process. */
    mpi_fn *(*handler_of)(enum call call);

    /* The counterparts of narrowed_of() and narrowed_pmpi_of() (narrowed.h) for calls with arrays
     * of counts, and for those that return counts. Call after bind(). */
    mpi_fn *(*narrowed_arrays_of)(enum call call);
    mpi_fn *(*narrowed_arrays_pmpi_of)(enum call call);

    /* Store the value of a predefined attribute of a window. Returns false if the host stores the
     * same value. */
    bool (*fortran_window_attribute)(int window, int keyval, int64_t *value);

    /* Call before an attribute of a window is set. */
    void (*fortran_window_changed)(int window);

    /* The member of the node that is this rank of a communicator. Negative if the member is not
     * known, or if the rank is on another node. */
    int (*member_of_rank)(long comm, int rank);

    /* As member_of_rank(), but asks the host if the member is not known. */
    int (*member_by_host)(long comm, int rank);

    /* The member whose memory is that of this rank in a window. Negative if the window is left to
     * the host, or if there is no such rank. */
    int (*member_of_target)(long window, int rank);

    /* See abi/collectives/contribution.h. */
    uint64_t (*data_bytes)(int64_t count, long datatype, int rank);

    /* See abi/collectives/contribution.h. */
    uint64_t (*contribution)(enum call call, const long arguments[]);

    /* The handle of a request, as a number. `requests`: the address of an array of handles. */
    uintptr_t (*request_in)(long requests, int index);

    /* Call when the host has made a persistent request. `request`: the address of its handle. */
    void (*request_created)(long request);

    const struct shmem_host *shmem;
};

/* The address is NULL if the library was not built for this ABI. */
extern const struct abi abi_ompi __attribute__((weak)), abi_mpich __attribute__((weak));

/* The standard ABI of MPI-5, whose header is part of this library's source. */
extern const struct abi abi_standard;

#endif
