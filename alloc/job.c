#include "alloc/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static uint32_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

uint32_t job_slurm_tasks(const char *text, unsigned long node)
{
    while (*text) {
        char *end;
        unsigned long tasks = strtoul(text, &end, 10), times = 1;
        if (end == text)
            return 0;
        if (!strncmp(end, "(x", 2)) {
            times = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < times)
            return (uint32_t)tasks;
        node -= times;
        text = end + (*end == ',');
    }
    return 0;
}

static uint32_t local_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (number(names[i]))
            return number(names[i]);
    const char *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
    return tasks ? job_slurm_tasks(tasks, number("SLURM_NODEID")) : 0;
}

/* The address of the daemon that serves all ranks of the job on this node. Two jobs may have the
 * same namespace name, which is derived from a process id, but not the same daemon. */
static const char *pmix_server(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "";
}

/* The start time of a process in clock ticks since boot. It differs if a process id is reused. */
static unsigned long long start_time(int pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    const char *field = strrchr(line, ')'); /* the end of field 2, which may contain anything */
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field ? strtoull(field, NULL, 10) : 0;
}

/* Containers that start together may use the same process ids, each in its own namespace. */
static unsigned long long pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

/* Under Hydra the other end of PMI_FD is the proxy, one process for all ranks of the job on this
 * node. */
static bool pmi_key(struct job *job)
{
    struct ucred proxy;
    socklen_t length = sizeof proxy;
    if (!getenv("PMI_FD") || !getenv("PMI_RANK") ||
        getsockopt((int)number("PMI_FD"), SOL_SOCKET, SO_PEERCRED, &proxy, &length) || !proxy.pid)
        return false;
    snprintf(job->key, sizeof job->key, "pmi %d %llu %llu", proxy.pid, start_time(proxy.pid),
             pid_namespace());
    return true;
}

static bool pmix_key(struct job *job)
{
    const char *name = getenv("PMIX_NAMESPACE");
    if (!name || !getenv("PMIX_RANK"))
        return false;
    snprintf(job->key, sizeof job->key, "pmix %s %s", name, pmix_server());
    return true;
}

void job_read(struct job *job)
{
    if (pmix_key(job) || pmi_key(job)) {
        job->local_size = local_size();
        return;
    }
    job->key[0] = 0;
    job->local_size = 1;
}
