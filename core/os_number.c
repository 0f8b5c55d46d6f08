#include "core/os_number.h"

#include <stdio.h>

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
