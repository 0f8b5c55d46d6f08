#include "core/os_number.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

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

size_t os_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX
                                                                          : limit.rlim_cur;
}
