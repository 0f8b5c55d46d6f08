#include "node/snapshot.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool snapshot_next_data(int file, uint64_t position, size_t size, size_t *start, size_t *end)
{
    off_t base = (off_t)position, last = base + (off_t)size;
    off_t data = lseek(file, base + (off_t)*end, SEEK_DATA);
    if (data < 0 || data >= last)
        return false;
    off_t hole = lseek(file, data, SEEK_HOLE);
    *start = (size_t)(data - base);
    *end = hole < 0 || hole > last ? size : (size_t)(hole - base);
    return true;
}

char *snapshot_map(int file, size_t size)
{
    int flags = MAP_PRIVATE | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
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
void snapshot_copy(int file, uint64_t position, char *to, const char *from, size_t size)
{
    for (size_t start, end = 0; snapshot_next_data(file, position, size, &start, &end);) {
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
