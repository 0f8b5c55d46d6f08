#include "heap/limits.h"

#include "core/cgroup.h"
#include "core/config.h"
#include "core/os_number.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- huge pages ---- */

#define HUGE_PAGES_FOLDER "/sys/kernel/mm/transparent_hugepage/"

/* Linux prints the setting that holds in brackets. */
static bool setting_is(const char *text, const char *value)
{
    const char *found = strchr(text, '[');
    return found && !strncmp(found + 1, value, strlen(value)) && found[1 + strlen(value)] == ']';
}

enum huge_pages limits_huge_pages(void)
{
    char private[128], shared[128];
    os_text(HUGE_PAGES_FOLDER "enabled", private, sizeof private);
    os_text(HUGE_PAGES_FOLDER "shmem_enabled", shared, sizeof shared);
    if (!setting_is(private, "always") || prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
        return HUGE_PAGES_EQUAL;
    if (setting_is(shared, "always") || setting_is(shared, "force") ||
        setting_is(shared, "within_size"))
        return HUGE_PAGES_EQUAL;
    return setting_is(shared, "advise") ? HUGE_PAGES_ADVISED : HUGE_PAGES_PRIVATE;
}

size_t limits_block_length(void)
{
    if (config.heap == 1 || limits_huge_pages() != HUGE_PAGES_PRIVATE)
        return SIZE_MAX;
    char bytes[32];
    os_text(HUGE_PAGES_FOLDER "hpage_pmd_size", bytes, sizeof bytes);
    size_t length = strtoul(bytes, NULL, 10);
    return length ? length : (size_t)2 << 20;
}

/* ---- obstacles ---- */

/* A program may define its own malloc, or preload another one in front of this. Its address is also
 * that of `malloc` here, so compare the objects. An executable at a fixed address that stores the
 * address of malloc, such as Debian's Python, only has an undefined symbol with that address. */
static bool is_malloc_elsewhere(void)
{
    Dl_info first, own;
    ElfW(Sym) *symbol = NULL;
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    return dladdr1(found, &first, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           symbol->st_shndx != SHN_UNDEF && dladdr((void *)limits_obstacle, &own) &&
           first.dli_fbase != own.dli_fbase;
}

/* `ulimit -d` does not count the pages of a file, `ulimit -v` counts the complete mapping, and if
 * strict accounting refuses a page, a signal ends the process. */
const char *limits_obstacle(void)
{
    if (!config.enabled || !config.heap)
        return "it is switched off";
    if (is_malloc_elsewhere())
        return "the program has another malloc that comes first";
    if (os_limit(RLIMIT_DATA) != SIZE_MAX || os_limit(RLIMIT_AS) != SIZE_MAX)
        return "`ulimit -d` or `ulimit -v` limits memory";
    if (os_number("/proc/sys/vm/overcommit_memory") == 2)
        return "vm.overcommit_memory is 2";
    return NULL;
}

/* ---- memory that is left ---- */

static size_t left_on_machine(void)
{
    char text[512];
    os_text("/proc/meminfo", text, sizeof text);
    const char *found = strstr(text, "MemAvailable:");
    return found ? strtoul(found + strlen("MemAvailable:"), NULL, 10) << 10 : 0;
}

/* The page cache, in bytes, which Linux reclaims when the cgroup reaches its limit. In version 1,
 * only the totals include nested cgroups. */
static long cached_files(const struct cgroup *cgroup, bool is_unified)
{
    const char *prefix = is_unified ? "" : "total_";
    char active[32], inactive[32];
    snprintf(active, sizeof active, "%sactive_file", prefix);
    snprintf(inactive, sizeof inactive, "%sinactive_file", prefix);
    return cgroup_number_of(cgroup, "memory.stat", active) +
           cgroup_number_of(cgroup, "memory.stat", inactive);
}

static size_t left_in_cgroup(const struct cgroup *cgroup)
{
    long limit, used;
    bool is_unified = cgroup_numbers(cgroup, "memory.max", &limit, 1) &&
                      cgroup_numbers(cgroup, "memory.current", &used, 1);
    if (!is_unified && (!cgroup_numbers(cgroup, "memory.limit_in_bytes", &limit, 1) ||
                        !cgroup_numbers(cgroup, "memory.usage_in_bytes", &used, 1)))
        return SIZE_MAX;
    /* The two files may be of different moments. */
    long cached = cached_files(cgroup, is_unified);
    used -= cached < used ? cached : used;
    return used < limit ? (size_t)(limit - used) : 0;
}

size_t limits_available(void)
{
    size_t available = left_on_machine();
    struct cgroup cgroup = cgroup_innermost("memory");
    do
        available = min_size(available, left_in_cgroup(&cgroup));
    while (cgroup_go_out(&cgroup));
    return available;
}
