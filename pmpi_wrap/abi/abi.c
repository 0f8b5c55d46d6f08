/* This ABI's tables. */
#include "pmpi_wrap/abi/abi.h"

#include <dlfcn.h>
#include <string.h>

struct host_functions host;
static void *library;

/* A program that was linked with the host may have its own copy of the variable, and then that is
 * the one everybody uses; it comes first in the global scope. */
void *host_variable(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    return address ? address : dlsym(library, name);
}

bool host_has(const char *name)
{
    return host_function(library, "PMPI_", name);
}

static bool is_here(void *here, const char *version)
{
#if defined(OPEN_MPI)
    (void)version;
    return dlsym(here, "ompi_mpi_comm_world");
#else
    static const char *const family[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"};
    (void)here;
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        if (strstr(version, family[i]))
            return true;
    return false;
#endif
}

/* Every function of the headers; an older release of the ABI may lack some of the later ones. */
static bool bind(void *here)
{
    library = here;
    bool all = true;
#define FIND(name) host.name = (__typeof__(host.name))host_function(here, "PMPI_", #name);
#define NEED(name) FIND(name) all &= host.name != NULL;
    HOST_HELPERS(NEED)
    HOST_HELPERS_IF(FIND)
#define CALL(name, arguments)  NEED(name)
#define CALL4(name, arguments) FIND_IF4(name)
#if MPI_VERSION >= 4
#define FIND_IF4 FIND
#else
#define FIND_IF4(name)
#endif
#define CALL41(name, arguments) FIND_IF41(name)
#if KNOWS_BUFFERS
#define FIND_IF41 FIND
#else
#define FIND_IF41(name)
#endif
#include "pmpi_wrap/calls.def"
#undef CALL
#undef CALL4
#undef CALL41
#define ONWARD(name) host.name = (__typeof__(host.name))host_onward(here, #name);
    ONWARD(Init)
    ONWARD(Init_thread)
    ONWARD(Finalize)
    return all;
}

static bool attribute(int fortran_window, int keyval, int64_t *value)
{
#if defined(OPEN_MPI)
    MPI_Win win = host.Win_f2c(fortran_window);
#else
    MPI_Win win = fortran_window;
    /* The predefined keyvals are odd numbers in C; Fortran's are the even ones behind them. */
    keyval = (keyval - 1) | 1;
#endif
    MPI_Aint found;
    if (!window_attribute(win, keyval, &found))
        return false;
    *value = found;
    return true;
}

static dispatch_fn *const handlers[CALL_COUNT] = {
#define CALL(name, arguments) [CALL_##name] = (dispatch_fn *)accel_##name,
#if MPI_VERSION >= 4
#define CALL4 CALL
#else
#define CALL4(name, arguments)
#endif
#if KNOWS_BUFFERS
#define CALL41 CALL
#else
#define CALL41(name, arguments)
#endif
#include "pmpi_wrap/calls.def"
};

#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
const struct abi JOIN(abi_, ABI_NAME) = {
    .name = TEXT(ABI_NAME),
    .is_here = is_here,
    .bind = bind,
    .handlers = handlers,
    .window_attribute = attribute,
    .shmem = &shmem_calls_host,
};
