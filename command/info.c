#include "command/commands.h"

#include "command/library.h"
#include "core/config.h"
#include "core/kernels.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Print in lines of at most 80 characters, each after `indent` blanks. */
static void print_wrapped(const char *text, int indent)
{
    size_t room = 80 - (size_t)indent;
    while (strlen(text) > room) {
        size_t end = room;
        while (end > 1 && text[end] != ' ')
            end--;
        printf("%*s%.*s\n", indent, "", (int)end, text);
        text += end;
        text += strspn(text, " ");
    }
    printf("%*s%s\n", indent, "", text);
}

static void print_setting(const struct setting *s)
{
    const char *value = getenv(s->name);
    bool text = !strcmp(s->kind, "TEXT");
    printf("  %s (", s->name);
    for (const char *c = s->kind; *c; c++)
        putchar(tolower((unsigned char)*c));
    printf("%s%s)", text ? "" : ", default ", text ? "" : s->standard);
    if (value)
        printf(config_read_one(s->name, strlen(s->name), value) ? ", %s is invalid" : ", now: %s",
               value);
    putchar('\n');
    print_wrapped(s->help, 6);
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
    printf("this machine\n  anonymous files in memory: %s\n", have_memfd());
    printf("  arithmetic of reductions: %s\n", kernels_best()->name);
    printf("settings\n");
    for (const struct setting *s = config_settings; s->name; s++)
        print_setting(s);
    config_read(environ, warn);
    return 0;
}
