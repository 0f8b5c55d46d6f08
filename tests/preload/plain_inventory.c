/* Prints the threads and descriptors of this process, and its mapped memory except that of the
 * library whose file is named as its argument; one line each, without addresses. In a process
 * without MPI the output must not depend on the library (H1: processes that are not MPI programs).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long library_start, library_end;

static int note_library(struct dl_phdr_info *object, size_t size, void *name)
{
    (void)size;
    if (strcmp(object->dlpi_name, name) != 0)
        return 0;
    library_start = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        unsigned long end =
            object->dlpi_addr + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && end > library_end)
            library_end = (end + 4095) & ~4095ul;
    }
    return 1;
}

static void list(const char *folder)
{
    char path[4200], target[4096];
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));) {
        if (*e->d_name == '.' || atoi(e->d_name) == dirfd(dir))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        printf("%s %s\n", folder, target);
    }
    closedir(dir);
}

/* Linux merges adjacent mappings, so the library's pages are subtracted from the anonymous ones. */
static void list_mappings(void)
{
    unsigned long start, end;
    char line[4200], rights[8], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        *path = 0;
        sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &start, &end, rights, path);
        if (start < library_end && end > library_start)
            start = end < library_end ? end : library_end;
        if (end > start)
            printf("mapping %lu %s %s\n", end - start, rights, path);
    }
    fclose(maps);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !dl_iterate_phdr(note_library, argv[1]))
        printf("%s is not loaded\n", argv[1]);
    list("/proc/self/task");
    list("/proc/self/fd");
    list_mappings();
    return 0;
}
