/* How much memory this process takes, as Linux reports it. */
#ifndef PROCESS_MEMORY_H
#define PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A size in /proc/self/status, in KiB: `name` is that of its line, with the colon. */
static inline long status_kib(const char *name)
{
    char line[256];
    long kib = -1;
    size_t length = strlen(name);
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, name, length))
            kib = strtol(line + length, NULL, 10);
    if (status)
        fclose(status);
    return kib;
}

/* From here on, VmHWM is the most that VmRSS has been. False: not possible. */
static inline bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    bool forgotten = file && fputs("5", file) >= 0;
    return file && !fclose(file) && forgotten;
}

#endif
