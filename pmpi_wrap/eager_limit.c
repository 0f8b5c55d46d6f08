#include "pmpi_wrap/eager_limit.h"

#include "core/config.h"
#include "heap/interface.h"
#include "pmpi_wrap/host_identity.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

static size_t raised; /* 0: the host has its own limit */

/* The settings of the host that are in the environment because of this library. */
static struct variable {
    char name[48];
} chosen[2];

static void set_for_host(const char *name, size_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (!*chosen[i].name) {
            snprintf(chosen[i].name, sizeof chosen[i].name, "%s", name);
            setenv(name, text, 1);
            return;
        }
}

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* Has somebody set a variable whose name starts like this? */
static bool environment_has(const char *start)
{
    for (char **entry = environ; *entry; entry++)
        if (starts_with(*entry, start))
            return true;
    return false;
}

/* ---- Open MPI ---- */

/* Has a file of settings a line that starts like this? */
static bool file_has(const char *path, const char *start)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = starts_with(line + strspn(line, " \t"), start);
    if (file)
        fclose(file);
    return found;
}

/* The files are those of the user, of this installation, and of Debian. */
static bool files_have(const char *start)
{
    char path[4096];
    void *of_host = NULL;
    const char *home = getenv("HOME"), *name = "openmpi-mca-params.conf";
    snprintf(path, sizeof path, "%s/.openmpi/mca-params.conf", home ? home : "");
    if (file_has(path, start) || file_has("/etc/openmpi/openmpi-mca-params.conf", start))
        return true;
    symbol_definer("PMPI_Get_library_version", &of_host);
    const char *library = of_host ? symbol_file((mpi_fn *)of_host) : "";
    snprintf(path, sizeof path, "%.*s/../etc/%s", (int)(basename(library) - library), library,
             name);
    return file_has(path, start);
}

static bool may_be_limited(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

/* Each rank has a file in /dev/shm, out of which it takes a piece of the limit's length for each
 * message on its way, whatever the message's length. The default size of the file, 4 MiB, has room
 * for 127 pieces of 32 KiB, and Open MPI uses up to 512. Only pieces in use take memory, but each
 * rank maps the files of all. */
static bool has_room(size_t segment, uint32_t local_ranks)
{
    struct statvfs shm;
    return !may_be_limited(RLIMIT_AS) && !may_be_limited(RLIMIT_FSIZE) &&
           !statvfs("/dev/shm", &shm) &&
           shm.f_bavail / 2 >= (uint64_t)segment / shm.f_frsize * local_ranks;
}

/* MPI_Bsend waits for the receiver if more than 135 messages that are sent at once are on their way
 * to it, and otherwise more than 512, unless this library performs it (QUIRK_BSEND_WAITS). */
static bool raise_open_mpi(const struct job *job, size_t limit)
{
    enum { PIECES = 1024, HEADERS = 64 };
    const char *btl = quirks_version(host_identity.version) < VERSION(5, 0, 0) ? "vader" : "sm";
    size_t piece = limit + HEADERS, segment = PIECES * piece;
    char start[32], name[64];
    snprintf(start, sizeof start, "OMPI_MCA_btl_%s_", btl);
    if (!config.bsend || environment_has(start) || files_have(start + strlen("OMPI_MCA_")) ||
        !has_room(segment, job->local_size))
        return false;
    snprintf(name, sizeof name, "%seager_limit", start);
    set_for_host(name, piece);
    snprintf(name, sizeof name, "%ssegment_size", start);
    set_for_host(name, segment);
    return true;
}

/* ---- MPICH ---- */

/* UCX has one limit for all transports, so the job must not have ranks on other nodes. */
static bool raise_ucx(const struct job *job, size_t limit)
{
    const char *size = getenv("PMI_SIZE");
    if (environment_has("UCX_RNDV_") || environment_has("UCX_TLS=") || !size ||
        strtoul(size, NULL, 10) != job->local_size)
        return false;
    set_for_host("UCX_RNDV_THRESH", limit + 1);
    return true;
}

/* ---- both ---- */

/* Longer messages out of the heap of malloc are copied directly, which is faster still. */
static size_t wanted_limit(void)
{
    bool has_heap = config.heap && dlsym(RTLD_DEFAULT, MALLOC_HEAP_OPEN_NAME);
    return has_heap ? min_size(config.eager, config.heap_min) : config.eager;
}

void eager_limit_raise(const struct job *job)
{
    size_t limit = wanted_limit();
    bool has_xpmem = !access("/dev/xpmem", F_OK); /* copies between processes need no system call */
    if (limit <= quirk(QUIRK_EAGER_BYTES) || job->local_size < 2 || has_xpmem || raised)
        return;
    bool is_raised = !strcmp(host_identity.name, "Open MPI") ? raise_open_mpi(job, limit)
                     : strstr(host_identity.device, "ucx")   ? raise_ucx(job, limit)
                                                             : false;
    raised = is_raised ? limit : 0;
}

void eager_limit_end(void)
{
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen && *chosen[i].name; i++) {
        unsetenv(chosen[i].name);
        *chosen[i].name = 0;
    }
}

size_t eager_limit(void)
{
    return raised ? raised : quirk(QUIRK_EAGER_BYTES);
}
