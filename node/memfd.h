/* Shared memory in files without a name (memfd_create). Nothing is left behind when the last
 * process that has one mapped ends, and no limit of /dev/shm applies.
 *
 * Their size is sealed: a process that maps such a file cannot get SIGBUS because another process
 * has made it shorter.
 */
#ifndef MPIACCEL_MEMFD_H
#define MPIACCEL_MEMFD_H

#include "core/base.h"

#include <sys/types.h>

/* Create a file of `size` bytes, all zero. Returns its descriptor, or -1 and logs the reason. */
int memfd_create_sealed(size_t size);

/* Create a file as memfd_create_sealed() does, but one that can be made longer, once. */
int memfd_create_growing(size_t size);
bool memfd_lengthen(int file, size_t size);

/* Map a part of a file. It is not locked in memory, even if the program has called
 * mlockall(MCL_FUTURE): that would fill all holes of the file. With `placement` 0
 * the OS chooses the address. With MAP_FIXED or MAP_FIXED_NOREPLACE it is `at`, but before Linux
 * 4.17, MAP_FIXED_NOREPLACE may return another address. NULL: not possible; with MAP_FIXED, what
 * was mapped there may be gone. */
char *memfd_map(int file, uint64_t position, size_t size, char *at, int placement);

/* Free the pages of a part of such a file at the address where it is mapped, so that they read as
 * zeroes. False: not possible; the content is as before. */
bool memfd_punch(char *at, size_t size);

/* Let libraries for RDMA in this process forget the physical pages of a part of such a file, whose
 * content remains. They keep the pages of a message registered, and notice only what this process
 * does to its mapping, not that another process frees the pages. */
void memfd_forget_pages(char *at, size_t size);

/* Give a descriptor a number that is out of the way of programs that count their descriptors, if
 * possible. Returns the number; -1 for -1. */
int memfd_out_of_way(int file);

/* The size of a file that another process has sent; 0 if it could be made shorter. */
size_t memfd_sealed_size(int file);

/* A descriptor and its file. The program may close a descriptor that is not its own, and the number
 * may then belong to another file. */
struct memfd {
    int file;
    dev_t device;
    ino_t inode;
};

/* Returns false if the descriptor is not open. */
bool memfd_keep(struct memfd *kept, int file);

/* Whether the descriptor still belongs to the file. */
bool memfd_is_open(const struct memfd *kept);

#endif
