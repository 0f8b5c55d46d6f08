#include "heap/limits.h"

#include "core/config.h"
#include "core/huge_pages.h"
#include "core/os_number.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- huge pages ---- */

size_t limits_block_length(void)
{
    if (config.heap == 1 || huge_pages_of_shared_memory() != HUGE_PAGES_PRIVATE)
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
