#include "pmpi_wrap/abi/memory/gpu_runtime.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

/* The number of objects loaded since the process started. */
static int read_load_count(struct dl_phdr_info *object, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = object->dlpi_adds;
    return 1;
}

/* libze_loader.so does not count: hwloc's plugin, and so any MPI, loads it on machines without a
 * GPU. It needs one of Intel's drivers, which it loads on demand. */
static int find_runtime(struct dl_phdr_info *object, size_t size, void *context)
{
    static const char *const runtimes[] = {"libcuda.so", "libamdhip64.so", "libze_intel_"};
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    bool *found = context;
    (void)size;
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        *found |= !strncmp(name, runtimes[i], strlen(runtimes[i]));
    return *found;
}

/* Each new window asks, so the names are compared only after another object was loaded. (dlopen()
 * with RTLD_NOLOAD is no alternative: for a name that is not loaded it searches the disk for 20
 * us.) */
bool gpu_runtime_loaded(void)
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
