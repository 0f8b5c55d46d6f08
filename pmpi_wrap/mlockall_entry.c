/* mlockall() of the C library. With MCL_CURRENT, Linux would fill all holes of the shared file,
 * which has room for several times the memory of the machine (H26: no room). So once this process
 * has mapped that file, this function locks all other mappings one by one. MCL_FUTURE does not
 * concern the file and is left to Linux, as is everything in a process without the file (H1: loaded
 * into processes without MPI).
 */
#include "node/node.h"
#include "pmpi_wrap/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int mlockall_fn(int);

/* A walk through the mappings of this process. */
struct walk {
    FILE *maps;
    char *begin;
    size_t size;
    uint64_t locked, limit; /* in bytes */
    bool on_fault;          /* MCL_ONFAULT */
};

/* The next mapping that is not one of the node's file. False: there is none. */
static bool next_mapping(struct walk *w)
{
    char line[256];
    char access[8];
    uintptr_t begin, end;
    uint64_t position;
    unsigned major_number, minor_number;
    unsigned long inode;
    while (fgets(line, sizeof line, w->maps)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*x %x:%x %lu", &begin, &end, access,
                   &major_number, &minor_number, &inode) != 6)
            continue; /* the rest of a long line */
        bool of_os = (intptr_t)begin < 0;
        if (of_os || node_maps_file_at((char *)begin, makedev(major_number, minor_number), inode))
            continue;
        /* The part of the heap of malloc that is not in use would exceed many limits. */
        if (!strncmp(access, "---", 3) && node_alias_position((char *)begin, 1, &position))
            continue;
        w->begin = (char *)begin;
        w->size = end - begin;
        return true;
    }
    return false;
}

/* Lock the mapping. Pages that cannot be filled are no error, as with Linux's mlockall(). False: it
 * would exceed the limit. The first call fills nothing, so it fails only because of the limit, or
 * because another thread has unmapped the memory. */
static bool lock_mapping(struct walk *w)
{
    enum { ON_FAULT = 1 }; /* MLOCK_ONFAULT, which older headers lack */
    if (syscall(SYS_mlock2, w->begin, w->size, ON_FAULT) && errno != ENOSYS)
        return errno != EPERM && w->locked + w->size <= w->limit;
    w->locked += w->size;
    if (!w->on_fault)
        mlock(w->begin, w->size);
    return true;
}

static bool lock_all(struct walk *w)
{
    while (next_mapping(w))
        if (!lock_mapping(w))
            return false;
    return true;
}

static void unlock_before(struct walk *w, const char *end)
{
    rewind(w->maps);
    while (next_mapping(w) && w->begin < end)
        munlock(w->begin, w->size);
}

static int lock_current(bool on_fault)
{
    struct rlimit limit = {0};
    struct walk w = {.maps = fopen("/proc/self/maps", "re"), .on_fault = on_fault};
    if (!w.maps)
        return -1;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    w.limit = limit.rlim_cur;
    bool locked = lock_all(&w);
    if (!locked)
        unlock_before(&w, w.begin);
    fclose(w.maps);
    if (!locked)
        errno = w.limit ? ENOMEM : EPERM;
    return locked ? 0 : -1;
}

EXPORT int mlockall(int flags)
{
    mlockall_fn *next = (mlockall_fn *)symbol_next("mlockall");
    if (!node.header || !(flags & MCL_CURRENT) || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
        return next(flags);
    if (lock_current(flags & MCL_ONFAULT))
        return -1;
    return flags & MCL_FUTURE ? next(flags & ~MCL_CURRENT) : 0;
}
