/* cgroups in invented folders. */
#ifndef MPIACCEL_CGROUPS_H
#define MPIACCEL_CGROUPS_H

#include "tests/unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The source of the module, so that it can be given other files. */
#include "core/cgroup.c"

static char folder[] = "/tmp/cgroups.XXXXXX", cgroups[64];

static void add(const char *content, const char *format, ...)
{
    char path[300], command[400];
    va_list arguments;
    int n = snprintf(path, sizeof path, "%s/", folder);
    va_start(arguments, format);
    vsnprintf(path + n, sizeof path - (size_t)n, format, arguments);
    va_end(arguments);
    snprintf(command, sizeof command, "mkdir -p $(dirname %s)", path);
    ck_assert_int_eq(system(command), 0);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

static void begin(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(cgroups, sizeof cgroups, "%s/own", folder);
    own_cgroups = cgroups;
    cgroup_root = folder;
}

static void end(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

#endif
