#include "pmpi_wrap/host.h"

#include "core/config.h"
#include "core/log.h"
#include "pmpi_wrap/host_identity.h"
#include "pmpi_wrap/job_identity.h"
#include "pmpi_wrap/narrowed.h"
#include "pmpi_wrap/progress_entry.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

static struct {
    void *library; /* dlopen() handle of the object that defines the MPI functions */
    const struct abi *abi;
    const struct abi *bound; /* the same, even if nothing may be accelerated */
    bool is_standard;        /* it implements MPI-5's standard ABI */
    bool was_closed;         /* by host_close() */
    bool has_ended; /* it is the host that was closed, and has not been initialized again */
    bool is_known;  /* nothing prevents that calls are accelerated, except MPIACCEL=0 */
} host;

/* For a call that neither the host nor another library has. A program gets here if it looks for the
 * function at run time, or calls MPI before an MPI is loaded. 16 is MPI_ERR_OTHER or the like. */
long host_missing(void)
{
    return 16;
}

const struct abi *host_abi(void)
{
    return config.enabled ? host.abi : NULL;
}

const struct shmem_host *host_shmem(void)
{
    return host.abi ? host.abi->shmem : NULL;
}

/* ---- finding the host ---- */

/* Whether the host is libmpi_abi.so, of any MPI. In the library with the MPI's own ABI the version
 * is -1. */
static bool is_standard_abi(void)
{
    typedef int version_fn(int *, int *);
    version_fn *get_version = (version_fn *)symbol_in(host.library, "PMPI_", "Abi_get_version");
    int major = 0, minor = 0;
    return get_version && !get_version(&major, &minor) && major > 0;
}

/* The ABI of the host. NULL: none. */
static const struct abi *find_abi(enum host_family family)
{
    static const struct abi *const abis[] = {&abi_ompi, &abi_mpich, &abi_standard};
    for (size_t i = 0; i < sizeof abis / sizeof *abis; i++)
        if (abis[i] && (abis[i] == &abi_standard) == host.is_standard &&
            abis[i]->matches(host.library, family))
            return abis[i];
    return NULL;
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
    enum host_family family = host_family(version);
    host.abi = find_abi(family);
    if (!host.abi)
        return;
    host_identify(version, host.abi->name);
    if (family == FAMILY_UNKNOWN)
        family = FAMILY_OPEN_MPI; /* only its ABI is recognised under any name */
    quirks_open(family, host_identity.version);
}

/* ---- finding it again ---- */

/* The number of objects that had been unloaded from this process when the host was closed. */
static unsigned long long closed_at;

static int read_unload_count(struct dl_phdr_info *object, size_t size, void *unloads)
{
    (void)size;
    *(unsigned long long *)unloads = object->dlpi_subs;
    return 1;
}

static unsigned long long count_unloaded(void)
{
    unsigned long long unloads = 0;
    dl_iterate_phdr(read_unload_count, &unloads);
    return unloads;
}

/* Whether the host is the one that was closed. If objects have been unloaded, it may be another
 * copy, at the same address. Then MPI_Finalized shows whether it is, unless only sessions have been
 * used. */
static bool is_host_that_was_closed(void)
{
    typedef int finalized_fn(int *);
    finalized_fn *finalized = (finalized_fn *)symbol_in(host.library, "PMPI_", "Finalized");
    int flag = 0;
    return host.was_closed &&
           (count_unloaded() == closed_at || !finalized || finalized(&flag) || flag);
}

/* ---- filling the tables ---- */

/* A tool behind this library whose MPI_X does not come back to it, because the tool finds the next
 * MPI_X or PMPI_X with dlsym(), which is the host's. The host cannot perform calls on fast windows
 * and communicators, so with such a tool nothing may be fast. NULL: there is none. */
static const char *tool_past_library(const struct dispatch_tables *tables)
{
    for (int call = 0; host.abi && call < CALL_COUNT; call++) {
        if (!host.abi->handler_of((enum call)call) && !tables->forwarder_of((enum call)call))
            continue; /* intercepted only for the statistics */
        const char *name = call_names[call] + 4;
        mpi_fn *tool = symbol_of_tool(host.library, name);
        if (tool && !symbol_calls_pmpi(tool, name))
            return symbol_file(tool);
    }
    return NULL;
}

/* The calls that have handlers even if the host has been finalized: those that initialize it again,
 * and the one that must not pass memory of this library to the host. */
static bool outlasts_host(enum call call)
{
    return call == CALL_Init || call == CALL_Init_thread || call == CALL_Session_init ||
           call == CALL_Free_mem;
}

/* The functions for MPI_X and PMPI_X, which the host lacks. */
static void substitute(enum call call, mpi_fn **mpi, mpi_fn **pmpi)
{
    *mpi = narrowed_of(call);
    *pmpi = narrowed_pmpi_of(call);
    if (!*mpi && host.bound) {
        *mpi = host.bound->narrowed_arrays_of(call);
        *pmpi = host.bound->narrowed_arrays_pmpi_of(call);
    }
    if (!*mpi)
        *mpi = *pmpi = (mpi_fn *)host_missing;
}

/* MPI_X goes to a tool that is loaded behind this library, and comes back as PMPI_X. So this
 * library is below every tool, in whatever order they were loaded, and each sees each call once
 * (H5: tools before and after us). */
static void set_dispatch(const struct dispatch_tables *tables, enum call call)
{
    const char *name = call_names[call] + 4;
    bool inert = !host.is_known || !config.enabled || (host.has_ended && !outlasts_host(call));
    mpi_fn *handler = inert ? tables->closer_of(call) : host.abi->handler_of(call);
    mpi_fn *onward = host.library ? symbol_onward(host.library, name) : NULL;
    if (onward && !handler && !inert)
        handler = tables->forwarder_of(call);
    if (onward && !inert && config.stats)
        handler = tables->recorder_of(call);
    mpi_fn *mpi = handler ? handler : onward, *pmpi = mpi;
    if (!onward)
        substitute(call, &mpi, &pmpi);
    tables->onward[call] = onward ? onward : pmpi;
    mpi_fn *tool = host.library ? symbol_of_tool(host.library, name) : NULL;
    /* Release: see target_in(). */
    __atomic_store_n(&tables->pmpi[call], pmpi, __ATOMIC_RELEASE);
    __atomic_store_n(&tables->mpi[call], tool ? tool : mpi, __ATOMIC_RELEASE);
}

static void warn(const char *line)
{
    log_message(0, "%s (see `mpiaccel info`)", line);
}

/* Whether this MPICH supports PMIx is visible only in its dependencies. */
static enum job_host job_host(void)
{
    if (!strcmp(host_identity.abi, "ompi") || !strcmp(host_identity.name, "Open MPI"))
        return JOB_HOST_OPEN_MPI;
    bool has_pmix = host.library && symbol_in(host.library, "PMIx_", "Init");
    return has_pmix ? JOB_HOST_MPICH_PMIX : JOB_HOST_MPICH;
}

void host_job(struct job *job)
{
    job_read(job, job_host());
}

/* Warnings of invalid settings are not printed yet: only the host can return the rank. */
static void report_no_host(void)
{
    static bool reported;
    if (reported || host.was_closed)
        return;
    reported = true;
    config_read(environ, NULL);
    log_message(1,
                "nothing is accelerated: no MPI is loaded; load its library before the first call");
}

static void report_unknown_abi(void)
{
    log_message(1, "nothing is accelerated: %s",
                host.is_standard && !host.abi
                    ? "libmpi_abi is that of an unknown MPI; use that of MPICH or Open MPI"
                    : "this MPI was not there when libmpiaccel was built; build it again here");
}

static void read_settings(void)
{
    struct job job;
    if (host.was_closed)
        return;
    host_job(&job);
    log_set_rank(job.rank);
    config_read(environ, job.rank <= 0 ? warn : NULL);
    if (config.node_size && job.rank <= 0)
        log_message(
            1,
            "MPIACCEL_NODE_SIZE=%lu makes several nodes of one machine, for tests: what their "
            "ranks do together is left to the host; unset it",
            config.node_size);
    if (config.stats)
        job_identity_read();
}

static void report_state(const char *past)
{
    if (host.was_closed)
        return;
    if (past)
        log_message(1,
                    "nothing is accelerated: %s calls the MPI past libmpiaccel; name it before "
                    "libmpiaccel in LD_PRELOAD",
                    past);
    else if (!host.is_known)
        report_unknown_abi();
    else if (!config.enabled)
        log_message(1, "nothing is accelerated: MPIACCEL=0 switches everything off");
}

static void set_all(const struct dispatch_tables *tables)
{
    for (int call = 0; call < CALL_COUNT; call++)
        set_dispatch(tables, (enum call)call);
}

/* The host stays loaded as long as other objects in the process use it. */
static void release_host(void)
{
    if (host.library)
        dlclose(host.library);
}

bool host_open(const struct dispatch_tables *tables)
{
    find_host();
    if (!host.library) {
        report_no_host();
        return false;
    }
    read_settings();
    host.has_ended = is_host_that_was_closed();
    const char *past = tool_past_library(tables);
    host.bound = host.abi && host.abi->bind(host.library, tables->mpi) ? host.abi : NULL;
    host.is_known = host.bound && !past;
    report_state(past);
    if (!host.is_known)
        host.abi = NULL; /* no handler may be called */
    set_all(tables);
    if (!host_abi())
        release_host();
    return true;
}

/* ---- after the host has been finalized ---- */

void host_close(void)
{
    if (host_abi())
        release_host();
    progress_forget();
    host.was_closed = true;
    host.has_ended = false;
    closed_at = count_unloaded();
}

void host_restart(const struct dispatch_tables *tables)
{
    if (!host.has_ended)
        return;
    host.has_ended = false;
    set_all(tables);
}

bool host_has_ended(void)
{
    return host.has_ended;
}

bool host_was_reloaded(void)
{
    return host.was_closed && !host.has_ended;
}
