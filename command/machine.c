#include "command/machine.h"

#include "command/launcher.h"
#include "core/config.h"
#include "pmpi_wrap/quirks.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

bool machine_has_memfd(void)
{
    int fd = memfd_create("mpiaccel-info", MFD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The first line of a file of the OS, without its end; empty: it cannot be read. */
static void read_line(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "re");
    text[0] = 0;
    if (!file)
        return;
    if (fgets(text, (int)room, file))
        text[strcspn(text, "\n")] = 0;
    fclose(file);
}

/* ---- copies ---- */

/* Ranks are children of one launcher. The OS may permit a process to read its own children, but not
 * its siblings, so one child reads another one. */
static pid_t start_source(int *end)
{
    int ends[2];
    if (pipe(ends))
        return -1;
    pid_t child = fork();
    if (!child) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) > 0); /* until the parent closes its end */
    }
    close(ends[0]);
    *end = ends[1];
    return child;
}

static int copy_from(pid_t source)
{
    static char word[8];
    char copy[8];
    struct iovec local = {copy, sizeof copy}, remote = {word, sizeof word};
    return process_vm_readv(source, &local, 1, &remote, 1, 0) == sizeof copy ? 0 : errno;
}

int machine_copy_error(void)
{
    int end, status = 0;
    pid_t source = start_source(&end);
    if (source < 0)
        return errno;
    pid_t reader = fork();
    if (!reader)
        _exit(copy_from(source));
    int error = reader < 0 ? errno : 0;
    if (reader > 0 && waitpid(reader, &status, 0) == reader)
        error = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM; /* a filter may kill the reader */
    close(end);
    waitpid(source, NULL, 0);
    return error;
}

int machine_ptrace_scope(void)
{
    char text[16];
    read_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text);
    return *text ? atoi(text) : -1;
}

const char *machine_huge_pages(void)
{
    static char text[128];
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    char *chosen = strchr(text, '['), *end = chosen ? strchr(chosen, ']') : NULL;
    if (!end)
        return "unknown";
    *end = 0;
    return chosen + 1;
}

/* ---- launchers ---- */

static bool is_known(const struct machine_launcher *found, size_t count, const char *path)
{
    char own[PATH_MAX], other[PATH_MAX];
    if (!realpath(path, own))
        return true;
    for (size_t i = 0; i < count; i++)
        if (realpath(found[i].path, other) && !strcmp(own, other))
            return true;
    return false;
}

static size_t add_launchers(struct machine_launcher *found, size_t count, size_t room,
                            const char *pattern)
{
    glob_t files;
    if (glob(pattern, 0, NULL, &files))
        return count;
    for (size_t i = 0; i < files.gl_pathc && count < room; i++) {
        struct machine_launcher *next = found + count;
        const struct launcher *family;
        if (strlen(files.gl_pathv[i]) >= sizeof next->path || access(files.gl_pathv[i], X_OK) ||
            is_known(found, count, files.gl_pathv[i]) || !(family = launcher_of(files.gl_pathv[i])))
            continue;
        snprintf(next->path, sizeof next->path, "%s", files.gl_pathv[i]);
        next->family = family->name;
        launcher_version(next->path, next->version, sizeof next->version);
        count++;
    }
    globfree(&files);
    return count;
}

size_t machine_launchers(struct machine_launcher *found, size_t room)
{
    static const char *const names[] = {"mpirun", "mpiexec", "mpirun.*", "mpiexec.*", "srun"};
    const char *searched = getenv("PATH");
    char *path = strdup(searched ? searched : ""), *rest = path, *folder;
    size_t count = 0;
    while (path && (folder = strsep(&rest, ":")))
        for (size_t i = 0; *folder && i < sizeof names / sizeof *names; i++) {
            char pattern[PATH_MAX];
            snprintf(pattern, sizeof pattern, "%s/%s", folder, names[i]);
            count = add_launchers(found, count, room, pattern);
        }
    free(path);
    return count;
}

/* ---- libraries ---- */

/* Copy the rest of the line behind `name`, blanks and colons, in the text of a library's version.
 */
static bool find_entry(const char *text, const char *name, char *value, size_t room)
{
    const char *line = strstr(text, name);
    if (!line)
        return false;
    line += strlen(name);
    line += strspn(line, " \t:v");
    snprintf(value, room, "%.*s", (int)strcspn(line, ",\n \t"), line);
    return *value;
}

static void describe(const char *text, char *version, size_t room)
{
    char number[32], device[32];
    if (find_entry(text, "MPICH Version", number, sizeof number))
        snprintf(version, room, "MPICH %s", number);
    else if (find_entry(text, "Open MPI", number, sizeof number))
        snprintf(version, room, "Open MPI %s", number);
    else
        snprintf(version, room, "%.*s", (int)strcspn(text, "\n"), text);
    if (find_entry(text, "MPICH Device", device, sizeof device))
        snprintf(version + strlen(version), room - strlen(version), ", %s", device);
}

/* Before MPI_Init, only Open MPI answers; MPICH ends the process. */
static enum gpu_answer gpu_answer(void *library)
{
    const char *name = "MPIX_Query_cuda_support";
    int (*query)(void) = dlsym(library, "ompi_mpi_comm_world")
                             ? (int (*)(void))(uintptr_t)dlsym(library, name)
                             : NULL;
    if (!query)
        return GPU_UNKNOWN;
    return query() ? GPU_ACCEPTED : GPU_REFUSED;
}

static void find_eager_obstacle(struct machine_mpi *mpi, void *function)
{
    Dl_info object;
    const char *device = strchr(mpi->version, ',');
    bool is_open_mpi = !strncmp(mpi->version, "Open MPI ", 9);
    const struct eager_host host = {
        .name = is_open_mpi ? "Open MPI" : "MPICH",
        .version = is_open_mpi ? mpi->version + 9 : "",
        .device = device ? device : "",
        .library = dladdr(function, &object) ? object.dli_fname : "",
        .limit = config.eager,
        .ranks = 2,
    };
    quirks_open(is_open_mpi ? FAMILY_OPEN_MPI : FAMILY_MPICH, host.version);
    mpi->eager = eager_obstacle_of(&host, mpi->eager_setting);
}

/* In a child, which the library may end. */
static void load(const char *file, int to)
{
    struct machine_mpi mpi = {0};
    char text[8192] = "";
    int length;
    void *library = dlopen(file, RTLD_LAZY);
    int (*version)(char *, int *) =
        library ? (int (*)(char *, int *))(uintptr_t)dlsym(library, "PMPI_Get_library_version")
                : NULL;
    if (!version || version(text, &length))
        return;
    snprintf(mpi.file, sizeof mpi.file, "%s", file);
    describe(text, mpi.version, sizeof mpi.version);
    find_eager_obstacle(&mpi, (void *)(uintptr_t)version);
    mpi.gpu = gpu_answer(library);
    if (write(to, &mpi, sizeof mpi) < 0)
        return;
}

static bool ask(const char *file, struct machine_mpi *mpi)
{
    int ends[2];
    if (pipe(ends))
        return false;
    pid_t child = fork();
    if (!child) {
        dup2(STDERR_FILENO, STDOUT_FILENO); /* the library may print something */
        load(file, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    bool is_there = child > 0 && read(ends[0], mpi, sizeof *mpi) == sizeof *mpi;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return is_there;
}

size_t machine_mpis(struct machine_mpi *found, size_t room)
{
    static const char *const files[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12",
                                        "libmpi_abi.so.1", "libmpi_abi.so.0"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && count < room; i++)
        count += ask(files[i], found + count);
    return count;
}
