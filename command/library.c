#include "command/library.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS 3

/* The path of an installed file that is in the first of these folders. A folder is absolute, or
 * relative to that of this program. If the file does not exist, the result is its path in the last
 * folder. Valid until the next call. */
static const char *find(const char *const folders[FOLDERS], const char *name)
{
    static char path[PATH_MAX];
    char program[PATH_MAX], candidate[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    const char *own = dirname(program);
    for (size_t i = 0; i < FOLDERS; i++) {
        bool absolute = *folders[i] == '/';
        if (!absolute && length <= 0)
            continue;
        snprintf(candidate, sizeof candidate, "%s/%s/%s", absolute ? "" : own, folders[i], name);
        if (realpath(candidate, path))
            return path;
    }
    snprintf(path, sizeof path, "%s/%s", folders[FOLDERS - 1], name);
    return path;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return !stat(a, &of_a) && !stat(b, &of_b) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* Folders are tried in this order: that of the installation, relative to this program, with which
 * it may have been moved; that of the build folder and of a wheel; the absolute one of `make
 * install`.
 * ../lib is not the first, since it may contain a library for 32-bit programs.
 * Unless the library was moved, its path is that which `make install` was given, and not the
 * resolved one: the targets of symbolic links may be missing on other nodes. */
const char *library_path(void)
{
    static const char installed[] = MPIACCEL_LIBDIR "/" MPIACCEL_SONAME;
    static const char *const folders[FOLDERS] = {MPIACCEL_LIBDIR_FROM_BIN, "../lib",
                                                 MPIACCEL_LIBDIR};
    const char *found = find(folders, MPIACCEL_SONAME);
    return is_same_file(found, installed) ? installed : found;
}

const char *library_heap_path(void)
{
    static char path[PATH_MAX + sizeof "/" MPIACCEL_HEAP_NAME];
    char library[PATH_MAX];
    snprintf(library, sizeof library, "%s", library_path());
    snprintf(path, sizeof path, "%s/%s", dirname(library), MPIACCEL_HEAP_NAME);
    return path;
}

const char *library_program(const char *name)
{
    static const char *const folders[FOLDERS] = {MPIACCEL_PROGRAMS_FROM_BIN, "../libexec/mpiaccel",
                                                 MPIACCEL_PROGRAMS};
    char file[64];
    snprintf(file, sizeof file, "mpiaccel-%s", name);
    return find(folders, file);
}

const char *library_man_page(void)
{
    static const char *const folders[FOLDERS] = {"../man", "../man", "../man"};
    const char *page = find(folders, "mpiaccel.1");
    return access(page, R_OK) ? "mpiaccel" : page;
}

const char *library_command(void)
{
    static char path[PATH_MAX];
    return realpath("/proc/self/exe", path) ? path : "mpiaccel";
}

static bool exists(const char *path)
{
    if (!access(path, R_OK))
        return true;
    fprintf(stderr, "mpiaccel: cannot read %s: %m; build or install libmpiaccel again\n", path);
    return false;
}

bool library_exists(void)
{
    return exists(library_path());
}

bool library_heap_exists(void)
{
    return exists(library_heap_path());
}
