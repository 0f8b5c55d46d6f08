#include "command/library.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLACES 3

/* The path of an installed file that is in the first of these folders. A folder is absolute, or
 * relative to that of this program. If the file does not exist, the result is its path in the last
 * folder. Valid until the next call. */
static const char *find(const char *const folders[PLACES], const char *name)
{
    static char path[PATH_MAX];
    char program[PATH_MAX], candidate[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *own = dirname(program);
    for (size_t i = 0; i < PLACES; i++) {
        bool absolute = *folders[i] == '/';
        if (!absolute && length <= 0)
            continue;
        snprintf(candidate, sizeof candidate, "%s/%s/%s", absolute ? "" : own, folders[i], name);
        if (realpath(candidate, path))
            return path;
    }
    snprintf(path, sizeof path, "%s/%s", folders[PLACES - 1], name);
    return path;
}

/* The folders below are those of the installation, relative to this program, with which they may
 * have been moved; those of the build folder and of a wheel; and those of `make install`. An
 * installation with another libdir may have a library for 32-bit programs in ../lib, so ../lib is
 * not the first. */

const char *library_path(void)
{
    static const char *const folders[PLACES] = {MPIACCEL_LIBDIR_FROM_BIN, "../lib",
                                                MPIACCEL_LIBDIR};
    return find(folders, MPIACCEL_SONAME);
}

const char *library_program(const char *name)
{
    static const char *const folders[PLACES] = {MPIACCEL_PROGRAMS_FROM_BIN, "../libexec/mpiaccel",
                                                MPIACCEL_PROGRAMS};
    char file[64];
    snprintf(file, sizeof file, "mpiaccel-%s", name);
    return find(folders, file);
}

const char *library_command(void)
{
    static char path[PATH_MAX];
    return realpath("/proc/self/exe", path) ? path : "mpiaccel";
}

bool library_exists(void)
{
    if (!access(library_path(), R_OK))
        return true;
    fprintf(stderr, "mpiaccel: cannot read %s: %m; build or install libmpiaccel again\n",
            library_path());
    return false;
}
