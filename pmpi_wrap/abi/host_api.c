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
    void *own = dlsym(library, name), *first = own ? dlsym(RTLD_DEFAULT, name) : NULL;
    return first ? first : own;
}

void constants_read(void)
{
    constants = (struct constants){.info_null = MPI_INFO_NULL,
                                   .byte = MPI_BYTE,
                                   .datatype_null = MPI_DATATYPE_NULL,
                                   .comm_null = MPI_COMM_NULL};
}

bool host_bind(void *host_library, mpi_fn *const *exported)
{
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
    /* Each of these passes this library exactly as often as the program calls it. So it may go to a
     * tool between this library and the host, which would miss it otherwise. */
#define ONWARD(name) host.name = (__typeof__(host.name))symbol_onward(library, #name);
    ONWARD(Init)
    ONWARD(Init_thread)
    ONWARD(Finalize)
    return all;
}
