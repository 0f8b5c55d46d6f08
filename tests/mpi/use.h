/* Memory, descriptors and files that a process uses. */
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

#endif
