/* Memory, descriptors and files that a process uses, and a check that they do not grow. With glibc,
 * MALLOC_ARENA_MAX=1 must be set: otherwise the first allocation of each thread reserves 64 MiB
 * of address space. */
#ifndef USE_H
#define USE_H

#include "test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

struct use {
    long address_space, resident, descriptors, file_kib;
};

static inline struct use measure(void)
{
    struct use use = {0};
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%ld %ld", &use.address_space, &use.resident) == 2);
    fclose(statm);
    use.address_space *= sysconf(_SC_PAGESIZE) / 1024;
    use.resident *= sysconf(_SC_PAGESIZE) / 1024;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat file;
        use.descriptors++;
        if (!fstat(atoi(entry->d_name), &file) && S_ISREG(file.st_mode))
            use.file_kib += file.st_blocks / 2;
    }
    closedir(dir);
    return use;
}

/* Call `cycle` a few times, to fill caches, then `cycles` times with increasing numbers. Fails if
 * that leaves a descriptor open, or more than `allowed` KiB of memory or file blocks allocated. */
static inline void check_cycles(void (*cycle)(int i), int warm, int cycles, long allowed)
{
    for (int i = 0; i < warm; i++)
        cycle(i);
    struct use before = measure();
    for (int i = 0; i < cycles; i++)
        cycle(i);
    struct use after = measure();
    CHECK(after.resident - before.resident < allowed, "resident: %ld KiB, then %ld",
          before.resident, after.resident);
    CHECK(after.address_space - before.address_space < 8192 + allowed,
          "address space: %ld KiB, then %ld", before.address_space, after.address_space);
    CHECK(after.file_kib - before.file_kib < allowed, "files: %ld KiB, then %ld", before.file_kib,
          after.file_kib);
    CHECK(after.descriptors == before.descriptors, "descriptors: %ld, then %ld", before.descriptors,
          after.descriptors);
}

#endif
