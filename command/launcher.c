#include "command/launcher.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Options of Open MPI 4.1 to 6.0, MPICH 4.0 to 5.0, Intel MPI, and Slurm 24.05 */
static const struct launcher launchers[] = {
    {
        .name = "Open MPI",
        .programs = "orterun oshrun shmemrun prterun",
        .versions = {"Open MPI", "OpenRTE", "PRRTE"},
        .form = OPTION_ASSIGNS,
        .option = "x",
        .local_option = "",
        .cannot_pass = ";",
        .rival = "mca_base_env_list",
        .contexts = "app appfile",
        .files = "am tune",
        .letters = "",
        .one = "H N add-host add-hostfile bind-to c cartofile cf cpu-list cpu-set cpus-per-proc "
               "cpus-per-rank debugger default-hostfile display dvm dvm-uri gpus-per-proc hnp host "
               "hostfile launch-agent machinefile map-by max-restarts max-vm-size memory-updates n "
               "namespace np npernode npersocket num-connect-retries ompi-server output "
               "output-directory output-filename path personality ppr prefix preload-files rank-by "
               "rankfile report-events report-pid report-uri rf runtime-options server-wait-time "
               "stdin stream-buffering timeout wd wdir xml-file xterm",
        .two = "gmca gomca gpmixmca gprtemca mca omca pmixmca prtemca",
    },
    {
        .name = "Hydra",
        .programs = "mpiexec.hydra",
        .versions = {"HYDRA", "Intel(R) MPI"},
        .form = OPTION_PAIR,
        .option = "genv",
        .local_option = "env",
        .cannot_pass = "",
        .rival = "",
        .contexts = "configfile",
        .files = "",
        .letters = "",
        .one = "arch bind-to binding bootstrap bootstrap-exec bootstrap-exec-args ckpoint-interval "
               "ckpoint-num ckpoint-prefix ckpointlib demux dir envlist errfile errfile-pattern f "
               "genvlist gpu-subdevs-per-proc gpus-per-proc grr host hostfile hostlist hosts iface "
               "launcher launcher-exec localhost machine machinefile machinelist machines map-by "
               "membind n nameserver np order-nodes outfile outfile-pattern output-from path "
               "perhost ppn prepend-pattern rmk s topolib umask usize wd wdir",
        .two = "",
    },
    {
        .name = "Slurm",
        .programs = "srun",
        .form = OPTION_LIST,
        .option = "export",
        .local_option = "",
        .cannot_pass = ",",
        .rival = "",
        .contexts = "",
        .files = "",
        .letters = "ABCDFGJLMNSTWbcdeimnopqrtwx",
        .one =
            "account acctg-freq batch bb bbf begin chdir cluster-constraint clusters comment "
            "constraint container container-env container-id container-image container-mounts "
            "container-name container-save container-workdir core-spec cores-per-socket cpu-bind "
            "cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution "
            "epilog error exclude extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node "
            "gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name jobid "
            "licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus "
            "mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core "
            "ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output "
            "partition power prefer priority profile prolog qos relative reservation segment "
            "signal slurmd-debug sockets-per-node switches task-epilog task-prolog thread-spec "
            "threads threads-per-core time time-min tmp tree-width tres-bind tres-per-task uid "
            "wait wckey",
        .two = "",
    },
};

bool launcher_lists(const char *list, const char *word, size_t length)
{
    while (*list) {
        size_t next = strcspn(list, " ");
        if (next == length && !strncmp(list, word, length))
            return true;
        list += next + strspn(list + next, " ");
    }
    return false;
}

static bool prints_version_of(const struct launcher *family, const char *output)
{
    for (const char *const *version = family->versions; *version; version++)
        if (strstr(output, *version))
            return true;
    return false;
}

/* The beginning of what `PROGRAM --version` prints */
static void version_of(const char *program, char *output, size_t size)
{
    char command[PATH_MAX + 32];
    output[0] = 0;
    if (strchr(program, '\''))
        return;
    snprintf(command, sizeof command, "'%s' --version 2>/dev/null </dev/null", program);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return;
    output[fread(output, 1, size - 1, pipe)] = 0;
    while (fgetc(pipe) != EOF)
        ;
    pclose(pipe);
}

/* Whether launchers of several families have this name. `prun` is a launcher of PRRTE, and of
 * OpenHPC, whose `prun` starts the launcher of an MPI. */
static bool has_common_name(const char *name)
{
    return !strncmp(name, "mpirun", 6) || !strncmp(name, "mpiexec", 7) || !strcmp(name, "prun");
}

const struct launcher *launcher_of(const char *program)
{
    char path[PATH_MAX], output[512] = "";
    snprintf(path, sizeof path, "%s", program);
    const char *name = basename(path);
    if (has_common_name(name))
        version_of(program, output, sizeof output);
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *family = launchers + i;
        if (launcher_lists(family->programs, name, strlen(name)) ||
            prints_version_of(family, output))
            return family;
    }
    return NULL;
}

void launcher_version(const char *program, char *number, size_t room)
{
    char output[512];
    version_of(program, output, sizeof output);
    for (const char *c = output; (c = strpbrk(c, "0123456789")); c += strcspn(c, " \t\n,")) {
        size_t length = strspn(c, "0123456789.");
        /* "Intel(R) MPI ... OS, Version 2021.9", not "slurm-wlm2": a number is a word. */
        if (c > output && strchr(" \t", c[-1]) && memchr(c, '.', length)) {
            snprintf(number, room, "%.*s", (int)length, c);
            return;
        }
    }
    *number = 0;
}
