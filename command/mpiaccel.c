/* mpiaccel: prints what the library and this machine support, and starts programs with the library
 * preloaded. */
#include "core/config.h"
#include "core/kernels.h"
#include "core/sync.h"
#include "version.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The path of the library: next to this program, both in the build folder and after `make install`.
 */
static const char *library(void)
{
    static char path[PATH_MAX], folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length > 0) {
        folder[length] = 0;
        char candidate[2 * PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s/../lib/libmpiaccel.so", dirname(folder));
        if (realpath(candidate, path))
            return path;
    }
    return MPIACCEL_LIBDIR "/libmpiaccel.so";
}

/* Checked before a program is started: if LD_PRELOAD names a missing library, the loader only
 * prints a warning in every process. */
static bool have_library(void)
{
    if (!access(library(), R_OK))
        return true;
    fprintf(stderr, "mpiaccel: cannot read %s: %m; build or install libmpiaccel again\n",
            library());
    return false;
}

static void print_setting(const struct setting *s)
{
    const char *value = getenv(s->name);
    char standard[64];
    snprintf(standard, sizeof standard, "[%s]", s->standard);
    printf("  %-22s %-8s %-5s %s%s%s\n", s->name, s->kind, standard, s->help,
           value ? "\n                         now: " : "", value ? value : "");
}

static void warn(const char *line)
{
    printf("  warning: %s\n", line);
}

static const char *have_memfd(void)
{
    int fd = memfd_create("mpiaccel-info", MFD_CLOEXEC);
    if (fd < 0)
        return "no: nothing can be accelerated";
    close(fd);
    return "yes";
}

static int info(void)
{
    printf("libmpiaccel %s\n  library: %s\n  built for: %s\n", MPIACCEL_VERSION, library(),
           MPIACCEL_ABIS);
    printf("this machine\n  shared memory files: %s\n", have_memfd());
    printf("  reduction kernels: %s\n", kernels_best()->name);
    printf("settings, kind, [default]\n");
    for (const struct setting *s = config_settings; s->name; s++)
        print_setting(s);
    config_read(environ, warn);
    return 0;
}

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

/* `arguments`: `count` strings and a NULL. */
static int run(char **arguments, size_t count)
{
    const char *before = getenv("LD_PRELOAD");
    char value[2 * PATH_MAX];
    snprintf(value, sizeof value, "%s%s%s", library(), before ? ":" : "", before ? before : "");
    char **command = calloc(count + 3, sizeof *command);
    if (!command)
        return 1;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", arguments[0]);
    const char *base = basename(name);
    bool launcher = !strncmp(base, "mpirun", 6) || !strncmp(base, "mpiexec", 7);
    size_t next = 0;
    command[next++] = arguments[0];
    if (launcher && is_open_mpi(arguments[0])) {
        command[next++] = "-x";
        command[next++] = "LD_PRELOAD";
    }
    memcpy(command + next, arguments + 1, count * sizeof *command);
    setenv("LD_PRELOAD", value, 1);
    execvp(command[0], command);
    fprintf(stderr, "mpiaccel: cannot start %s: %m; give a program in PATH, or its path\n",
            command[0]);
    free(command);
    return 127;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "info"))
        return info();
    if (argc == 2 && !strcmp(argv[1], "lib"))
        return !have_library() || puts(library()) == EOF;
    if (argc == 2 && !strcmp(argv[1], "--version"))
        return puts("libmpiaccel " MPIACCEL_VERSION) == EOF;
    if (argc > 2 && !strcmp(argv[1], "run"))
        return have_library() ? run(argv + 2, (size_t)argc - 2) : 1;
    bool help = argc == 2 && !strcmp(argv[1], "--help");
    fputs("usage: mpiaccel info            print version, machine and settings\n"
          "       mpiaccel lib             print the path of the library, for LD_PRELOAD\n"
          "       mpiaccel run COMMAND...  run a launcher or a program with the library preloaded\n"
          "       mpiaccel --version\n",
          help ? stdout : stderr);
    return help ? 0 : 2;
}
