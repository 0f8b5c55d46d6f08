#include "command/commands.h"

#include "command/library.h"

#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is this the launcher of Open MPI? It passes variables to other nodes only with an option. */
static bool is_open_mpi(const char *launcher)
{
    char command[PATH_MAX + 32], line[256] = "";
    if (strchr(launcher, '\''))
        return false;
    snprintf(command, sizeof command, "'%s' --version 2>/dev/null", launcher);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return false;
    char *first = fgets(line, sizeof line, pipe);
    while (first && fgetc(pipe) != EOF)
        ;
    pclose(pipe);
    return strstr(line, "Open MPI") || strstr(line, "OpenRTE") || strstr(line, "PRRTE");
}

int command_run(int count, char **arguments)
{
    if (!library_exists())
        return 1;
    const char *before = getenv("LD_PRELOAD");
    char value[2 * PATH_MAX];
    snprintf(value, sizeof value, "%s%s%s", library_path(), before ? ":" : "",
             before ? before : "");
    char **command = calloc((size_t)count + 2, sizeof *command);
    if (!command)
        return 1;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", arguments[1]);
    const char *base = basename(name);
    bool launcher = !strncmp(base, "mpirun", 6) || !strncmp(base, "mpiexec", 7);
    size_t next = 0;
    command[next++] = arguments[1];
    if (launcher && is_open_mpi(arguments[1])) {
        command[next++] = "-x";
        command[next++] = "LD_PRELOAD";
    }
    memcpy(command + next, arguments + 2, ((size_t)count - 1) * sizeof *command);
    setenv("LD_PRELOAD", value, 1);
    execvp(command[0], command);
    fprintf(stderr, "mpiaccel: cannot start %s: %m; give a program in PATH, or its path\n",
            command[0]);
    free(command);
    return 127;
}
