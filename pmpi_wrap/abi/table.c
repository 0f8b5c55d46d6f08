/* The table of this ABI: the only global symbol of its object. */
#include "pmpi_wrap/abi.h"
#include "pmpi_wrap/abi/handlers.h"
#include "pmpi_wrap/abi/shmem/shmem.h"
#include "pmpi_wrap/abi/windows/attributes.h"

#include <dlfcn.h>
#include <string.h>

static bool matches(void *library, const char *version)
{
#if defined(OPEN_MPI)
    (void)version;
    return dlsym(library, "ompi_mpi_comm_world");
#else
    static const char *const families[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"};
    (void)library;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strstr(version, families[i]))
            return true;
    return false;
#endif
}

static mpi_fn *const handlers[CALL_COUNT] = {
#define CALL(name, arguments) [CALL_##name] = (mpi_fn *)accel_##name,
#include "pmpi_wrap/calls.def"
};

#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
const struct abi JOIN(abi_, ABI_NAME) = {
    .name = TEXT(ABI_NAME),
    .matches = matches,
    .bind = host_bind,
    .handlers = handlers,
    .fortran_window_attribute = fortran_window_attribute,
    .shmem = &shmem_mpi_calls,
};
