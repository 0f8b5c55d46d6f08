#include "pmpi_wrap/eager_obstacle.h"

#include "core/config.h"
#include "core/os_number.h"
#include "pmpi_wrap/quirks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char *const eager_obstacle_texts[EAGER_OBSTACLES] = {
#define EAGER_OBSTACLE(name, text, advice) [EAGER_OBSTACLE_##name] = text,
#include "pmpi_wrap/eager_obstacles.def"
#undef EAGER_OBSTACLE
};

const char *const eager_obstacle_advice[EAGER_OBSTACLES] = {
#define EAGER_OBSTACLE(name, text, advice) [EAGER_OBSTACLE_##name] = advice,
#include "pmpi_wrap/eager_obstacles.def"
#undef EAGER_OBSTACLE
};

/* ---- what somebody has set ---- */

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

/* Has somebody set a variable whose name starts like this? */
static bool environment_has(const char *start, char *setting)
{
    for (char **entry = environ; *entry; entry++)
        if (starts_with(*entry, start)) {
            snprintf(setting, EAGER_SETTING_ROOM, "%.*s", (int)strcspn(*entry, "="), *entry);
            return true;
        }
    return false;
}

/* Does a file of settings have a line that starts like this? */
static bool file_has(const char *path, const char *start, char *setting)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = starts_with(line + strspn(line, " \t"), start);
    if (file)
        fclose(file);
    if (found)
        snprintf(setting, EAGER_SETTING_ROOM, "%s", path);
    return found;
}

/* The files of Open MPI are those of the user, of this installation, and of Debian. */
static bool files_have(const char *library, const char *start, char *setting)
{
    char path[4096];
    const char *home = getenv("HOME");
    snprintf(path, sizeof path, "%s/.openmpi/mca-params.conf", home ? home : "");
    if (file_has(path, start, setting) ||
        file_has("/etc/openmpi/openmpi-mca-params.conf", start, setting))
        return true;
    snprintf(path, sizeof path, "%.*s/../etc/openmpi-mca-params.conf",
             (int)(basename(library) - library), library);
    return file_has(path, start, setting);
}

/* ---- Open MPI ---- */

const char *eager_component(const char *version)
{
    return quirks_version(version) < VERSION(5, 0, 0) ? "vader" : "sm";
}

size_t eager_segment_size(size_t limit)
{
    enum { PIECES = 1024, HEADERS = 64 };
    return PIECES * (limit + HEADERS);
}

/* Each rank has a file in /dev/shm, out of which it takes a piece of the limit's length for each
 * message on its way, whatever the message's length. The default size of the file, 4 MiB, has room
 * for 127 pieces of 32 KiB, and Open MPI uses up to 512. Only pieces in use take memory, but each
 * rank maps the files of all. If /dev/shm is not writable, Open MPI creates the files in its
 * temporary folder, which may have room for the default size only. */
static bool has_room(const struct eager_host *host)
{
    struct statvfs shm;
    return !access("/dev/shm", W_OK) && !statvfs("/dev/shm", &shm) &&
           shm.f_bavail / 2 >=
               (uint64_t)eager_segment_size(host->limit) / shm.f_frsize * host->ranks;
}

/* With the raised limit, MPI_Bsend waits as soon as 135 messages are on their way to the receiver,
 * instead of 512, unless this library performs the call (QUIRK_BSEND_WAITS). */
static enum eager_obstacle obstacle_of_open_mpi(const struct eager_host *host, char *setting)
{
    char start[32];
    snprintf(start, sizeof start, "OMPI_MCA_btl_%s_", eager_component(host->version));
    if (environment_has(start, setting) ||
        files_have(host->library, start + strlen("OMPI_MCA_"), setting))
        return EAGER_OBSTACLE_TUNED;
    return !config.bsend                        ? EAGER_OBSTACLE_BSEND
           : os_limit(RLIMIT_AS) != SIZE_MAX    ? EAGER_OBSTACLE_ADDRESSES
           : os_limit(RLIMIT_FSIZE) != SIZE_MAX ? EAGER_OBSTACLE_FILE_SIZE
           : !has_room(host)                    ? EAGER_OBSTACLE_SHM
                                                : EAGER_NO_OBSTACLE;
}

/* ---- both ---- */

enum eager_obstacle eager_obstacle_of(const struct eager_host *host, char *setting)
{
    *setting = 0;
    if (host->limit <= quirk(QUIRK_EAGER_BYTES))
        return host->limit < config.eager ? EAGER_OBSTACLE_HEAP : EAGER_OBSTACLE_SETTING;
    if (!access("/dev/xpmem", F_OK))
        return EAGER_OBSTACLE_XPMEM;
    if (!strcmp(host->name, "Open MPI"))
        return obstacle_of_open_mpi(host, setting);
    if (!strstr(host->device, "ucx"))
        return EAGER_OBSTACLE_TRANSPORT;
    return environment_has("UCX_RNDV_", setting) || environment_has("UCX_TLS=", setting)
               ? EAGER_OBSTACLE_TUNED
               : EAGER_NO_OBSTACLE;
}
