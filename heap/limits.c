#include "heap/limits.h"

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
