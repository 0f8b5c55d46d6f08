#include "pmpi_wrap/host.h"

#include "core/config.h"
#include "core/log.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stats_host host_identity = {"none", "", "none"};

static struct {
    void *library; /* dlopen handle of the object that defines the MPI functions */
    const struct abi *abi;
    bool standard; /* the MPI's handles are those of MPI-5's standard interface */
} host;

/* Calls of a process in which no MPI is to be found can only come from a program that asks whether
 * the symbol exists, and takes ours for the host's. MPI_ERR_OTHER or the like. */
static long no_host(void)
{
    return 16;
}

/* ---- finding ---- */

/* The names of the loaded objects. Taken first and opened later: dlopen() inside the iteration
 * could meet another thread's dlopen() with the loader's two locks in opposite order. */
struct objects {
    size_t count;
    char *name[1024];
};

static int note_name(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    struct objects *objects = context;
    if (object->dlpi_name[0] && objects->count < sizeof objects->name / sizeof *objects->name)
        objects->name[objects->count++] = strdup(object->dlpi_name);
    return 0;
}

/* The object at `address` was loaded as `name`. */
static bool defined_in(const void *address, const char *name)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && !strcmp(info.dli_fname, name);
}

/* The first loaded object, other than this library, that itself defines the symbol. dlsym() on an
 * object's handle also searches what it depends on, so the definition's place is checked: a tool
 * that stands before the host must not be taken for it. */
static void *find_definer(const char *symbol, void **address)
{
    struct objects objects = {0};
    void *found = NULL;
    dl_iterate_phdr(note_name, &objects);
    for (size_t i = 0; i < objects.count; i++) {
        char *name = objects.name[i];
        void *library = NULL;
        if (name && !found && !defined_in(&host, name))
            library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (library) {
            void *definition = dlsym(library, symbol);
            if (definition && defined_in(definition, name)) {
                found = library;
                *address = definition;
            } else {
                dlclose(library);
            }
        }
        free(name);
    }
    return found;
}

dispatch_fn *host_function(void *library, const char *prefix, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return (dispatch_fn *)dlsym(library, symbol);
}

void *host_next(const char *symbol)
{
    void *address = dlsym(RTLD_NEXT, symbol);
    if (!address)
        find_definer(symbol, &address);
    return address;
}

/* ---- opening the doors ---- */

const struct abi *host_abi(void)
{
    dispatch_open();
    return config.enabled ? host.abi : NULL;
}

static const struct abi *const abis[] = {&abi_ompi, &abi_mpich};

/* "Open MPI v4.1.4, package: …" or "MPICH Version:\t4.0.2\n…": the first number is the version. */
static void name_host(const char *text)
{
    static char name[32], number[32];
    static const char *const known[] = {"Open MPI", "MPICH", "Intel(R) MPI", "MVAPICH"};
    sscanf(text + strcspn(text, "0123456789"), "%31[0-9A-Za-z.]", number);
    snprintf(name, sizeof name, "%s", host.abi->name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(text, known[i]))
            snprintf(name, sizeof name, "%s", known[i]);
    host_identity = (struct stats_host){name, number, host.abi->name};
}

/* libmpi_abi.so of MPICH and of Open MPI, which otherwise looks like either. */
static bool is_standard(void)
{
    typedef int version_fn(int *, int *);
    version_fn *get_version = (version_fn *)host_function(host.library, "PMPI_", "Abi_get_version");
    int major = 0, minor = 0;
    return get_version && !get_version(&major, &minor) && major > 0;
}

static void find_host(void)
{
    typedef int version_fn(char *, int *);
    static char version[8192]; /* the largest MPI_MAX_LIBRARY_VERSION_STRING */
    void *found;
    /* Not PMPI_Init: a tool may define that too, as Darshan does. */
    host.library = find_definer("PMPI_Get_library_version", &found);
    if (!host.library)
        return;
    version_fn *get_version =
        (version_fn *)host_function(host.library, "PMPI_", "Get_library_version");
    int length = 0;
    if (!get_version || get_version(version, &length))
        return;
    host.standard = is_standard();
    for (size_t i = 0; i < sizeof abis / sizeof *abis && !host.standard; i++)
        if (abis[i] && abis[i]->is_here(host.library, version))
            host.abi = abis[i];
    if (host.abi)
        name_host(version);
}

static void *next_after_us(const char *prefix, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return dlsym(RTLD_NEXT, symbol);
}

static bool same_object(const void *address, const void *other)
{
    Dl_info a, b;
    return address && other && dladdr(address, &a) && dladdr(other, &b) &&
           a.dli_fbase == b.dli_fbase;
}

/* A tool that wraps MPI_X and stands behind us would be skipped by our jump; so MPI_X goes to the
 * tool, and comes back to us as PMPI_X: we are below every tool, wherever it was loaded (H5).
 * Not if the tool defines PMPI_X too, as Darshan does: then it goes on to the host, not to us. */
static dispatch_fn *tool_behind_us(const char *name)
{
    void *next = next_after_us("MPI_", name);
    bool other = next && !same_object(next, (void *)host_function(host.library, "MPI_", name)) &&
                 !same_object(next, next_after_us("PMPI_", name));
    return other ? (dispatch_fn *)next : NULL;
}

dispatch_fn *host_onward(void *library, const char *name)
{
    void *next = next_after_us("PMPI_", name);
    return next ? (dispatch_fn *)next : host_function(library, "PMPI_", name);
}

static void set_dispatch(enum call call, bool inert)
{
    const char *name = call_names[call] + 4;
    dispatch_fn *handler = inert ? NULL : host.abi->handlers[call];
    dispatch_fn *pass = host.library ? host_onward(host.library, name) : NULL;
    if (pass && !handler && !inert)
        handler = dispatch_counted[call];
    if (!pass)
        pass = (dispatch_fn *)no_host;
    if (!handler)
        handler = pass;
    dispatch_onward[call] = pass;
    dispatch_fn *tool = host.library ? tool_behind_us(name) : NULL;
    dispatch_pmpi[call] = handler;
    dispatch_mpi[call] = tool ? tool : handler;
}

static void warn(const char *line)
{
    log_message(0, "%s", line);
}

/* -1: no launcher says it. */
static int launched_rank(void)
{
    const char *pmix = getenv("PMIX_RANK"), *pmi = getenv("PMI_RANK");
    const char *rank = pmix ? pmix : pmi;
    return rank ? atoi(rank) : -1;
}

static void open_all(void)
{
    int rank = launched_rank();
    log_set_rank(rank);
    config_read(environ, rank <= 0 ? warn : NULL);
    find_host();
    bool known = host.abi && host.abi->bind(host.library);
    if (!known)
        log_message(1, "nothing is fast: %s",
                    !host.library ? "no MPI is loaded; load its library before the first call"
                    : host.standard
                        ? "MPI-5's standard interface (libmpi_abi) is not known; link with the "
                          "MPI's own library"
                        : "this MPI was not there when libmpiaccel was built; build it again "
                          "here");
    else if (!config.enabled)
        log_message(1, "nothing is fast: MPIACCEL=0 switches everything off");
    for (int call = 0; call < CALL_COUNT; call++)
        set_dispatch((enum call)call, !known || !config.enabled);
}

void dispatch_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_all);
}
