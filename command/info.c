#include "command/commands.h"

#include "command/library.h"
#include "core/config.h"
#include "core/kernels.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

int command_info(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    printf("libmpiaccel %s\n  library: %s\n  built for: %s\n", MPIACCEL_VERSION, library_path(),
           MPIACCEL_ABIS);
    printf("this machine\n  shared memory files: %s\n", have_memfd());
    printf("  reduction kernels: %s\n", kernels_best()->name);
    printf("settings, kind, [default]\n");
    for (const struct setting *s = config_settings; s->name; s++)
        print_setting(s);
    config_read(environ, warn);
    return 0;
}
