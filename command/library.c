#include "command/library.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The path of an existing file next to this program, both in the build folder and after `make
 * install`; `name` is relative to the prefix. NULL: there is none. Valid until the next call. */
static const char *neighbour(const char *name)
{
    static char path[PATH_MAX];
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return NULL;
    folder[length] = 0;
    char candidate[2 * PATH_MAX];
    snprintf(candidate, sizeof candidate, "%s/../%s", dirname(folder), name);
    return realpath(candidate, path);
}

const char *library_path(void)
{
    const char *found = neighbour("lib/" MPIACCEL_SONAME);
    return found ? found : MPIACCEL_LIBDIR "/" MPIACCEL_SONAME;
}

const char *library_program(const char *name)
{
    static char path[PATH_MAX];
    char file[PATH_MAX];
    snprintf(file, sizeof file, "libexec/mpiaccel/mpiaccel-%s", name);
    const char *found = neighbour(file);
    if (found)
        return found;
    snprintf(path, sizeof path, "%s/mpiaccel-%s", MPIACCEL_PROGRAMS, name);
    return path;
}

bool library_exists(void)
{
    if (!access(library_path(), R_OK))
        return true;
    fprintf(stderr, "mpiaccel: cannot read %s: %m; build or install libmpiaccel again\n",
            library_path());
    return false;
}
