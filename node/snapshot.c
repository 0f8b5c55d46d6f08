#include "node/snapshot.h"

#include "core/memory_left.h"
#include "node/job.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the OS does not report holes, as in gVisor, everything is data. */
static void find_extent(int file, struct snapshot_extent *e, uint64_t from)
{
    off_t data = lseek(file, (off_t)from, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
        e->start = e->end = UINT64_MAX;
        return;
    }
    e->start = data < 0 ? from : (uint64_t)data;
    off_t hole = lseek(file, (off_t)e->start, SEEK_HOLE);
    e->end = hole < 0 ? UINT64_MAX : (uint64_t)hole;
}

bool snapshot_next_data(int file, struct snapshot_extent *e, uint64_t position, size_t size,
                        size_t *start, size_t *end)
{
    uint64_t from = position + *end, last = position + size;
    if (from < last && from >= e->end)
        find_extent(file, e, from);
    if (from >= last || e->start >= last)
        return false;
    *start = (size_t)((from > e->start ? from : e->start) - position);
    *end = (size_t)((last < e->end ? last : e->end) - position);
    return true;
}

size_t snapshot_bytes(int file, size_t most)
{
    struct stat status;
    return fstat(file, &status) ? most : min_size(most, (size_t)status.st_blocks * 512);
}

/* In most programs that fork, all ranks do so, at about the same time. */
bool snapshot_has_room(size_t bytes)
{
    return bytes <= memory_left() / ((size_t)job_most_local_ranks() + 1);
}

char *snapshot_map(int file, uint64_t position, size_t size)
{
    int flags = MAP_PRIVATE | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, (off_t)position);
    return map == MAP_FAILED ? NULL : map;
}

/* Returns how many bytes have been read. */
static size_t read_part(int file, uint64_t position, char *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t more = pread(file, to + done, size - done, (off_t)(position + done));
        if (more <= 0)
            break;
        done += (size_t)more;
    }
    return done;
}

/* Read the file, because loads from its mapping end the process where the program has protected
 * pages, such as those that guard the end of a stack. */
void snapshot_copy(int file, struct snapshot_extent *e, uint64_t position, char *to,
                   const char *from, size_t size)
{
    for (size_t start, end = 0; snapshot_next_data(file, e, position, size, &start, &end);) {
        start += read_part(file, position + start, to + start, end - start);
        memcpy(to + start, from + start, end - start);
    }
}

/* Move the mapping instead of calling mmap() at `old`, which in older releases of Linux removes the
 * old mapping even if it fails. Make a bare system call: UCX intercepts mremap() and drops the new
 * address. */
bool snapshot_replace(char *old, char *new, size_t size)
{
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    bool replaced = syscall(SYS_mremap, new, size, size, flags, old) != -1;
    if (!replaced)
        munmap(new, size);
    return replaced;
}
