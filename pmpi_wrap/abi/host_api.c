#include "pmpi_wrap/abi/host_api.h"

#include "pmpi_wrap/symbols.h"

#include <dlfcn.h>

struct host_functions host;
struct constants constants;
mpi_fn *const *exported_calls;
static void *library;

/* The global scope comes first: a program that was linked with the host may have a copy of a
 * variable, which the host then uses too. A function that the host lacks is not taken from there:
 * it would be another MPI's. */
void *host_symbol(const char *name)
{
    void *own = dlsym(library, name);
    if (!own)
        return NULL;
    /* Do not use RTLD_DEFAULT: the object in which it finds a symbol becomes a dependency of this
     * library, and would never be unloaded. */
    void *program = dlopen(NULL, RTLD_LAZY), *first = dlsym(program, name);
    dlclose(program);
    return first ? first : own;
}

void constants_read(void)
{
    constants = (struct constants){.info_null = MPI_INFO_NULL,
                                   .byte = MPI_BYTE,
                                   .datatype_null = MPI_DATATYPE_NULL,
                                   .comm_null = MPI_COMM_NULL};
}

#if defined(OPEN_MPI)
/* The beginning and the end of the section `mpiaccel_handles`. */
extern void *_Atomic __start_mpiaccel_handles[] HIDDEN, *_Atomic __stop_mpiaccel_handles[] HIDDEN;

static void forget_addresses(void)
{
    for (void *_Atomic *cached = __start_mpiaccel_handles; cached < __stop_mpiaccel_handles;
         cached++)
        atomic_store_explicit(cached, NULL, memory_order_relaxed);
}
#else
static void forget_addresses(void)
{
}
#endif

bool host_bind(void *host_library, mpi_fn *const *exported)
{
    forget_addresses();
    library = host_library;
    exported_calls = exported;
    bool all = true;
#define FIND(name) host.name = (__typeof__(host.name))symbol_in(library, "PMPI_", #name);
#define NEED(name) FIND(name) all &= host.name != NULL;
    HOST_HELPERS(NEED)
    HOST_HELPERS_OPTIONAL(FIND)
#define CALL(name, arguments)    NEED(name)
#define CALL4(name, arguments)   FIND(name)
#define CALL41(name, arguments)  FIND(name)
#define SESSION(name, arguments) FIND(name)
#define HOST(name, arguments)
#include "pmpi_wrap/calls.def"
    /* Each of these calls goes through this library exactly as often as the program makes it. So it
     * may go to a tool between this library and the host, which would miss it otherwise. */
#define ONWARD(name) host.name = (__typeof__(host.name))symbol_onward(library, #name);
    ONWARD(Init)
    ONWARD(Init_thread)
    ONWARD(Finalize)
    return all;
}
