#include "core/memory_left.h"

#include "core/cgroup.h"
#include "core/os_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t left_on_machine(void)
{
    char text[512];
    os_text("/proc/meminfo", text, sizeof text);
    const char *found = strstr(text, "MemAvailable:");
    return found ? strtoul(found + strlen("MemAvailable:"), NULL, 10) << 10 : SIZE_MAX;
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

size_t memory_left(void)
{
    size_t available = left_on_machine();
    struct cgroup cgroup = cgroup_innermost("memory");
    do
        available = min_size(available, left_in_cgroup(&cgroup));
    while (cgroup_go_out(&cgroup));
    return available;
}
