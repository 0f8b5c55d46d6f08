#include "pmpi_wrap/host.h"

#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/host_identity.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/symbols.h"

#include <stdlib.h>
#include <unistd.h>

static struct {
    void *library; /* dlopen() handle of the object that defines the MPI functions */
    const struct abi *abi;
    bool is_standard; /* it implements MPI-5's standard ABI */
} host;

/* Target of all calls in a process without an MPI library. Only a program that tests whether the
 * symbol exists, and finds this library's, can call it. 16 is MPI_ERR_OTHER or the like. */
static long no_host(void)
{
    return 16;
}

const struct abi *host_abi(void)
{
    return config.enabled ? host.abi : NULL;
}

/* ---- finding the host ---- */

static const struct abi *const abis[] = {&abi_ompi, &abi_mpich};

/* libmpi_abi.so of MPICH and of Open MPI; without this test it would match either ABI. */
static bool is_standard_abi(void)
{
    typedef int version_fn(int *, int *);
    version_fn *get_version = (version_fn *)symbol_in(host.library, "PMPI_", "Abi_get_version");
    int major = 0, minor = 0;
    return get_version && !get_version(&major, &minor) && major > 0;
}

/* The object that defines PMPI_Get_library_version is the host, wherever and however it was loaded
 * (H2: libmpi loaded late by dlopen with RTLD_LOCAL). Not PMPI_Init: a tool may define that too, as
 * Darshan does. */
static void find_host(void)
{
    typedef int version_fn(char *, int *);
    static char version[8192]; /* the largest MPI_MAX_LIBRARY_VERSION_STRING */
    void *found;
    host.library = symbol_definer("PMPI_Get_library_version", &found);
    if (!host.library)
        return;
    version_fn *get_version = (version_fn *)symbol_in(host.library, "PMPI_", "Get_library_version");
    int length = 0;
    if (!get_version || get_version(version, &length))
        return;
    host.is_standard = is_standard_abi();
    for (size_t i = 0; i < sizeof abis / sizeof *abis && !host.is_standard; i++)
        if (abis[i] && abis[i]->matches(host.library, version))
            host.abi = abis[i];
    if (!host.abi)
        return;
    host_identify(version, host.abi->name);
    quirks_open(host_identity.abi, host_identity.name, host_identity.version);
}

/* ---- filling the tables ---- */

/* MPI_X goes to a tool that is loaded behind this library, and comes back as PMPI_X. So this
 * library is below every tool, in whatever order they were loaded, and each sees each call once
 * (H5: tools before and after us). */
static void set_dispatch(const struct dispatch_tables *tables, enum call call, bool inert)
{
    const char *name = call_names[call] + 4;
    mpi_fn *handler = inert ? NULL : host.abi->handlers[call];
    mpi_fn *onward = host.library ? symbol_onward(host.library, name) : NULL;
    if (!onward) {
        handler = NULL; /* a call of a newer MPI than the host */
        onward = (mpi_fn *)no_host;
    } else if (!handler && !inert) {
        handler = tables->counted[call];
    }
    if (!handler)
        handler = onward;
    tables->onward[call] = onward;
    mpi_fn *tool = host.library ? symbol_of_tool(host.library, name) : NULL;
    tables->pmpi[call] = handler;
    tables->mpi[call] = tool ? tool : handler;
}

static void warn(const char *line)
{
    log_message(0, "%s", line);
}

/* -1: no launcher has set it. */
static int launched_rank(void)
{
    const char *pmix = getenv("PMIX_RANK"), *pmi = getenv("PMI_RANK");
    const char *rank = pmix ? pmix : pmi;
    return rank ? atoi(rank) : -1;
}

void host_open(const struct dispatch_tables *tables)
{
    int rank = launched_rank();
    log_set_rank(rank);
    config_read(environ, rank <= 0 ? warn : NULL);
    find_host();
    bool known = host.abi && host.abi->bind(host.library, tables->mpi);
    if (!known)
        log_message(1, "nothing is fast: %s",
                    !host.library ? "no MPI is loaded; load its library before the first call"
                    : host.is_standard
                        ? "MPI-5's standard interface (libmpi_abi) is not known; link with the "
                          "MPI's own library"
                        : "this MPI was not there when libmpiaccel was built; build it again "
                          "here");
    else if (!config.enabled)
        log_message(1, "nothing is fast: MPIACCEL=0 switches everything off");
    for (int call = 0; call < CALL_COUNT; call++)
        set_dispatch(tables, (enum call)call, !known || !config.enabled);
}
