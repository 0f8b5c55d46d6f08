#include "pmpi_wrap/job_identity.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char command[4096], id[128], started[32];
static struct stats_identity identity = {.command = command, .id = id, .started = started};

static void read_command(void)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (!file)
        return;
    identity.command_bytes = fread(command, 1, sizeof command - 1, file);
    fclose(file);
}

static void read_start(void)
{
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* The number that the batch system has given the job, or else the name that the launcher has given
 * it. Hydra gives it none, but starts the ranks of a node from one process. */
static void read_id(void)
{
    static const char *const names[] = {"SLURM_JOB_ID",  "PBS_JOBID", "LSB_JOBID",
                                        "COBALT_JOBID",  "PJM_JOBID", "FLUX_JOB_ID",
                                        "PMIX_NAMESPACE"};
    const char *value = NULL, *step = getenv("SLURM_STEP_ID");
    size_t name = 0;
    for (; !value && name < sizeof names / sizeof *names; name++)
        value = getenv(names[name]);
    if (!value)
        snprintf(id, sizeof id, "%d", (int)getppid());
    else if (name == 1 && step)
        snprintf(id, sizeof id, "%s.%s", value, step);
    else
        snprintf(id, sizeof id, "%s", value);
    for (char *c = id; *c; c++) /* it becomes part of a file name */
        if (*c == '/' || (unsigned char)*c <= ' ')
            *c = '_';
}

void job_identity_read(void)
{
    if (*started)
        return;
    read_command();
    read_start();
    read_id();
}

const struct stats_identity *job_identity(void)
{
    return &identity;
}
