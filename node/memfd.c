#include "node/memfd.h"

#include "core/log.h"
#include "core/os_number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* since Linux 6.3 */
#endif

enum { SEALS_GROWING = F_SEAL_SHRINK, SEALS_FINAL = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static bool set_size(int file, size_t size, int seals)
{
    if (size > os_limit(RLIMIT_FSIZE)) { /* a signal would end the process */
        errno = EFBIG;
        return false;
    }
    return !ftruncate(file, (off_t)size) && !fcntl(file, F_ADD_SEALS, seals);
}

static int create_file_of(size_t size, int seals)
{
    /* Without a flag that says whether the file may be executed, Linux 6.3 and later log a warning,
     * or refuse the call if vm.memfd_noexec is 2. */
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int file = memfd_create("mpiaccel", flags | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL)
        file = memfd_create("mpiaccel", flags);
    if (file < 0) {
        log_message(2, "no shared file: memfd_create: %m");
        return -1;
    }
    if (!set_size(file, size, seals)) {
        log_message(2, "no shared file of %zu bytes: %m; see `ulimit -f`", size);
        close(file);
        return -1;
    }
    return file;
}

int memfd_create_sealed(size_t size)
{
    return create_file_of(size, SEALS_FINAL);
}

int memfd_create_growing(size_t size)
{
    return create_file_of(size, SEALS_GROWING);
}

bool memfd_lengthen(int file, size_t size)
{
    return set_size(file, size, SEALS_FINAL);
}

/* Pages that must not be accessed are not filled when they are locked. */
char *memfd_map(int file, uint64_t position, size_t size, char *at, int placement)
{
    int flags = MAP_SHARED | MAP_NORESERVE | placement;
    char *map = mmap(at, size, PROT_NONE, flags, file, (off_t)position);
    if (map == MAP_FAILED)
        return NULL;
    munlock(map, size);
    if (!mprotect(map, size, PROT_READ | PROT_WRITE))
        return map;
    if (placement != MAP_FIXED)
        munmap(map, size);
    return NULL;
}

/* MADV_DONTNEED would drop only this process's mapping of the pages. QEMU, when it runs programs
 * for another processor, ignores MADV_REMOVE and reports success (7.2), so the first call checks
 * it. */
bool memfd_punch(char *at, size_t size)
{
    enum { UNKNOWN, FREES, IGNORED };
    static _Atomic int effect;
    int known = atomic_load_explicit(&effect, memory_order_relaxed);
    if (LIKELY(known == FREES))
        return madvise(at, size, MADV_REMOVE) == 0;
    if (known == IGNORED)
        return false;
    volatile char *probe = at;
    char before = *probe;
    *probe = 1;
    bool accepted = madvise(at, size, MADV_REMOVE) == 0, freed = !*probe;
    if (!freed)
        *probe = before;
    if (accepted)
        atomic_store_explicit(&effect, freed ? FREES : IGNORED, memory_order_relaxed);
    return freed;
}

/* Libraries for RDMA intercept madvise(), and treat MADV_DONTNEED like munmap(). */
void memfd_forget_pages(char *at, size_t size)
{
    size_t before = (uintptr_t)at % (size_t)getpagesize();
    madvise(at - before, size + before, MADV_DONTNEED);
}

int memfd_out_of_way(int file)
{
    int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 500);
    if (high < 0)
        return file;
    close(file);
    return high;
}

size_t memfd_sealed_size(int file)
{
    struct stat status;
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && seals & F_SEAL_SHRINK && !fstat(file, &status) ? (size_t)status.st_size
                                                                        : 0;
}

bool memfd_keep(struct memfd *kept, int file)
{
    struct stat status;
    if (fstat(file, &status))
        return false;
    *kept = (struct memfd){file, status.st_dev, status.st_ino};
    return true;
}

bool memfd_is_open(const struct memfd *kept)
{
    struct memfd now;
    return memfd_keep(&now, kept->file) && now.inode == kept->inode && now.device == kept->device;
}
