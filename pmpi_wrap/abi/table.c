/* The table of this ABI: the only global symbol of its object. */
#include "pmpi_wrap/abi.h"
#include "pmpi_wrap/abi/buffered_sends/persistent.h"
#include "pmpi_wrap/abi/collectives/contribution.h"
#include "pmpi_wrap/abi/communicators/members.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/narrowed_arrays.h"
#include "pmpi_wrap/abi/shmem/shmem.h"
#include "pmpi_wrap/abi/windows/attributes.h"
#include "pmpi_wrap/abi/windows/window.h"

#include <dlfcn.h>

static bool is_library_of(void *library, enum host_family family)
{
#if defined(MPIACCEL_STANDARD_ABI_H)
    (void)library;
    return family != FAMILY_UNKNOWN; /* the quirks of an unknown host are unknown, too */
#elif defined(OPEN_MPI)
    (void)family;
    return dlsym(library, "ompi_mpi_comm_world");
#else
    /* MPI_DUP_FN of this ABI is the function MPIR_Dup_fn. The version is not enough: that of a
     * wrapper with an ABI of its own, such as MPItrampoline, contains MPICH's. */
    return family == FAMILY_MPICH && dlsym(library, "MPIR_Dup_fn");
#endif
}

static mpi_fn *handler_of(enum call call)
{
    switch (call) {
#define CALL(name, arguments) \
    case CALL_##name:         \
        return (mpi_fn *)accel_##name;
#define HOST(name, arguments)
#include "pmpi_wrap/calls.def"
    default:
        return NULL;
    }
}

static uintptr_t request_in(long requests, int index)
{
    return BITS(((const MPI_Request *)requests)[index]);
}

static void request_created(long request)
{
    persistent_forget_stale((const MPI_Request *)request);
}

#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
const struct abi JOIN(abi_, ABI_NAME) = {
    .name = TEXT(ABI_NAME),
    .matches = is_library_of,
    .bind = host_bind,
    .handler_of = handler_of,
    .narrowed_arrays_of = narrowed_arrays_of,
    .narrowed_arrays_pmpi_of = narrowed_arrays_pmpi_of,
    .fortran_window_attribute = fortran_window_attribute,
    .fortran_window_changed = fortran_window_changed,
    .member_of_rank = member_of_rank,
    .member_by_host = member_by_host,
    .member_of_target = member_of_target,
    .data_bytes = data_bytes,
    .contribution = contribution,
    .request_in = request_in,
    .request_created = request_created,
    .shmem = &shmem_mpi_calls,
};
