#include "core/os_number.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

unsigned long os_number(const char *file_name)
{
    unsigned long number = 0;
    FILE *file = fopen(file_name, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lu", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

void os_text(const char *file_name, char *text, size_t size)
{
    int file = open(file_name, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
}

size_t os_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX
                                                                          : limit.rlim_cur;
}
