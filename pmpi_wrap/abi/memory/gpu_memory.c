#include "pmpi_wrap/abi/memory/gpu_memory.h"

#include "core/config.h"
#include "pmpi_wrap/abi/host_api.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- the host ---- */

/* libze_loader.so is no runtime of a GPU: hwloc's plugin, and so any MPI, loads it on machines
 * without one. It needs one of Intel's drivers, which it loads on demand. */
static const struct vendor {
    const char *queries[2]; /* of Open MPI and MPICH, without arguments; these do not fail */
    const char *runtime;    /* how the name of its library begins */
} vendors[] = {
    {{"MPIX_Query_cuda_support"}, "libcuda.so"},
    {{"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}, "libamdhip64.so"},
    {{"MPIX_Query_ze_support"}, "libze_intel_"},
};
enum { VENDORS = sizeof vendors / sizeof *vendors };

/* Written once. */
static bool accepted, unanswered[VENDORS], any_unanswered;

static void ask_host(void)
{
    for (size_t v = 0; v < VENDORS; v++) {
        unanswered[v] = true;
        for (size_t i = 0; i < sizeof vendors->queries / sizeof *vendors->queries; i++) {
            const char *name = vendors[v].queries[i];
            int (*query)(void) = name ? (int (*)(void))host_symbol(name) : NULL;
            if (query) {
                unanswered[v] = false;
                accepted |= query() != 0;
            }
        }
        any_unanswered |= unanswered[v];
    }
}

/* ---- runtimes ---- */

/* The number of objects loaded since the process started. */
static int read_load_count(struct dl_phdr_info *object, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = object->dlpi_adds;
    return 1;
}

static int find_runtime(struct dl_phdr_info *object, size_t size, void *context)
{
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    bool *found = context;
    (void)size;
    for (size_t v = 0; v < VENDORS; v++)
        *found |= unanswered[v] && !strncmp(name, vendors[v].runtime, strlen(vendors[v].runtime));
    return *found;
}

/* Each new window asks, so the names are compared only after another object was loaded. (dlopen()
 * with RTLD_NOLOAD is no alternative: for a name that is not loaded it searches the disk for 20
 * us.) */
static bool unanswered_runtime_loaded(void)
{
    static _Atomic unsigned long long checked;
    static _Atomic bool found;
    unsigned long long loads = 0;
    dl_iterate_phdr(read_load_count, &loads);
    if (checked == loads)
        return found;
    bool now = false;
    dl_iterate_phdr(find_runtime, &now);
    found = now;
    checked = loads; /* after `found`, for a thread that reads both now */
    return now;
}

bool gpu_memory_possible(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!config.gpu)
        return false;
    pthread_once(&once, ask_host);
    return accepted || (any_unanswered && unanswered_runtime_loaded());
}
