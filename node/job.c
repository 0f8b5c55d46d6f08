#include "node/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

uint64_t job_hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

static uint32_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* The first variable that has a number. */
static uint32_t first_number(const char *const *names)
{
    for (; *names; names++)
        if (number(*names))
            return number(*names);
    return 0;
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

static uint32_t slurm_local_size(void)
{
    const char *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
    return tasks ? job_slurm_tasks(tasks, number("SLURM_NODEID")) : 0;
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

/* ---- the process at the other end of a socket ---- */

enum { PROCESS_NAME_MAX = 80 };

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

/* Since Linux 6.9 a process has one inode number, which differs from that of any other process
 * since boot, and is the same in all PID namespaces. */
static bool name_by_inode(int socket, char name[PROCESS_NAME_MAX])
{
    int process;
    socklen_t length = sizeof process;
    struct statfs system;
    struct stat status;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process, &length))
        return false;
    bool unique =
        !fstatfs(process, &system) && system.f_type == PID_FS_MAGIC && !fstat(process, &status);
    close(process);
    if (unique)
        snprintf(name, PROCESS_NAME_MAX, "inode %llu", (unsigned long long)status.st_ino);
    return unique;
}

/* This name is equal only on ranks that are in one PID namespace, in which the process is
 * visible. */
static bool name_by_id(int socket, char name[PROCESS_NAME_MAX])
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) || !peer.pid)
        return false;
    snprintf(name, PROCESS_NAME_MAX, "%d %llu %llu", peer.pid, start_time(peer.pid),
             pid_namespace());
    return true;
}

/* ---- PMI ---- */

/* Whether Slurm has started this process and offers PMI. PMI_JOBID alone may come from a
 * surrounding Slurm step, which has other ranks. */
static bool pmi_is_of_slurm(void)
{
    return getenv("PMI_JOBID") && getenv("SLURM_PROCID") &&
           number("SLURM_PROCID") == number("PMI_RANK") &&
           number("SLURM_STEP_NUM_TASKS") == number("PMI_SIZE");
}

static uint32_t pmi_local_size(void)
{
    static const char *const names[] = {"MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                                        "PALS_LOCAL_SIZE", NULL};
    uint32_t size = pmi_is_of_slurm() ? 0 : first_number(names);
    return size ? size : slurm_local_size();
}

/* The other end of PMI_FD is the launcher's process on this node, one for all ranks of the job. In
 * MPICH from 4.1 on it may also serve a job of MPI_Comm_spawn, hence the sizes in the key. */
static bool pmi_by_socket(struct job *job)
{
    char proxy[PROCESS_NAME_MAX];
    int socket = (int)number("PMI_FD");
    if (!getenv("PMI_RANK") || (!name_by_inode(socket, proxy) && !name_by_id(socket, proxy)))
        return false;
    job->local_size = pmi_local_size();
    job->rank = (int)number("PMI_RANK");
    snprintf(job->key, sizeof job->key, "pmi %s %u %u", proxy, number("PMI_SIZE"), job->local_size);
    return true;
}

/* PMI_PORT is the address at which the launcher's process on this node listens. */
static bool pmi_by_port(struct job *job)
{
    const char *port = getenv("PMI_PORT");
    if (!port || !getenv("PMI_ID"))
        return false;
    job->local_size = pmi_local_size();
    job->rank = (int)number("PMI_ID");
    snprintf(job->key, sizeof job->key, "port %u %.300s", job->local_size, port);
    return true;
}

/* The host does not try PMI_PORT if PMI_FD does not work. */
static bool pmi(struct job *job)
{
    return getenv("PMI_FD") ? pmi_by_socket(job) : pmi_by_port(job);
}

/* ---- PMIx ---- */

static uint32_t pmix_local_size(const char *namespace)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE", NULL};
    uint32_t size = strncmp(namespace, "slurm.", 6) ? first_number(names) : 0;
    return size ? size : slurm_local_size();
}

/* The addresses of the daemon that serves all ranks of the job on this node, as one number. Two
 * jobs may have the same namespace name, which is derived from a process id, but not the same
 * daemon. The names of the variables depend on the version of PMIx. */
static uint64_t pmix_server(void)
{
    static const char prefix[] = "PMIX_SERVER_URI";
    uint64_t sum = 0;
    for (char **entry = environ; *entry; entry++)
        if (!strncmp(*entry, prefix, sizeof prefix - 1))
            sum += job_hash(*entry); /* a sum, since the order of the variables may differ */
    return sum;
}

static bool pmix(struct job *job)
{
    const char *namespace = getenv("PMIX_NAMESPACE");
    if (!namespace || !getenv("PMIX_RANK"))
        return false;
    job->local_size = pmix_local_size(namespace);
    job->rank = (int)number("PMIX_RANK");
    snprintf(job->key, sizeof job->key, "pmix %016" PRIx64 " %u %.300s", pmix_server(),
             job->local_size, namespace);
    return true;
}

uint32_t job_most_local_ranks(void)
{
    uint32_t pmi = pmi_local_size(), pmix = pmix_local_size("");
    return pmi > pmix ? pmi : pmix ? pmix : 1;
}

/* ---- the host's choice ---- */

static bool prefers_pmix(void)
{
    const char *version = getenv("MPIR_CVAR_PMI_VERSION");
    return version && !strcmp(version, "x");
}

static bool find_launcher(struct job *job, enum job_host host)
{
    switch (host) {
    case JOB_HOST_OPEN_MPI:
        return pmix(job) || (getenv("SLURM_STEP_NUM_TASKS") && pmi_by_socket(job));
    case JOB_HOST_MPICH:
        return pmi(job);
    default:
        if (prefers_pmix())
            return pmix(job);
        return getenv("PMI_FD") || getenv("PMI_PORT") ? pmi(job) : pmix(job);
    }
}

void job_read(struct job *job, enum job_host host)
{
    *job = (struct job){.local_size = 1, .rank = -1};
    if (!find_launcher(job, host))
        *job = (struct job){.local_size = 1, .rank = -1};
}
