/* mpiaccel: what a user does with the library besides preloading it. Each subcommand is a function
 * of commands.h, or a program in libexec/mpiaccel. */
#include "command/commands.h"
#include "command/library.h"
#include "version.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int command_lib(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    return !library_exists() || puts(library_path()) == EOF;
}

static int command_version(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    return puts("libmpiaccel " MPIACCEL_VERSION) == EOF;
}

static const struct command {
    const char *name;
    int at_least, at_most;                        /* arguments */
    int (*function)(int count, char **arguments); /* NULL: a program */
    const char *arguments, *help;
} commands[] = {
    {"bench", 0, -1, NULL, "[-n RANKS] [-o FOLDER]",
     "measure MPI calls with and without the library"},
    {"doctor", 0, -1, NULL, "[LAUNCHER...]", "find out what is not accelerated, and the cure"},
    {"info", 0, 0, command_info, "", "print version, machine and settings"},
    {"lib", 0, 0, command_lib, "", "print the path of the library, for LD_PRELOAD"},
    {"report", 1, -1, NULL, "FILE...", "summarise statistics, or compare those of two jobs"},
    {"run", 1, -1, command_run, "[--print] COMMAND...",
     "run a launcher or a program with the library preloaded"},
    {"run --compare", 1, -1, command_run, "[-n N] COMMAND...", /* an option of the line above */
     "run it N times with and N times without the library, and compare"},
    {"--version", 0, 0, command_version, "", "print the version"},
    {0},
};

int command_program(const char *name, char **arguments)
{
    execv(library_program(name), arguments);
    fprintf(stderr, "mpiaccel: cannot start %s: %m; install libmpiaccel again\n",
            library_program(name));
    return 127;
}

/* Whether a line of the table is that of the subcommand, or of one of its options. */
static bool belongs_to(const struct command *c, const char *subcommand)
{
    size_t length = strlen(subcommand);
    return !strncmp(c->name, subcommand, length) && (!c->name[length] || c->name[length] == ' ');
}

/* For all subcommands if `subcommand` is NULL. */
static int usage(FILE *to, const char *subcommand, int status)
{
    const char *before = "usage:";
    for (const struct command *c = commands; c->name; c++) {
        char line[64];
        if (subcommand && !belongs_to(c, subcommand))
            continue;
        snprintf(line, sizeof line, "%s %s", c->name, c->arguments);
        fprintf(to, "%s mpiaccel %-31s %s\n", before, line, c->help);
        before = "      ";
    }
    fputs(subcommand ? "See man mpiaccel.\n" : "See man mpiaccel, or mpiaccel SUBCOMMAND --help.\n",
          to);
    return status;
}

/* For the completion of shells: the name and the purpose of each subcommand. */
static int print_subcommands(void)
{
    for (const struct command *c = commands; c->name; c++)
        if (*c->name != '-' && !strchr(c->name, ' '))
            printf("%s\t%s\n", c->name, c->help);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--help"))
        return usage(stdout, NULL, 0);
    if (argc == 2 && !strcmp(argv[1], "--complete"))
        return print_subcommands();
    for (const struct command *c = commands; argc > 1 && c->name; c++) {
        int count = argc - 2;
        if (strcmp(argv[1], c->name) != 0)
            continue;
        if (c->function && count == 1 && !strcmp(argv[2], "--help"))
            return usage(stdout, c->name, 0);
        if (count < c->at_least || (c->at_most >= 0 && count > c->at_most))
            continue;
        return c->function ? c->function(count + 1, argv + 1) : command_program(c->name, argv + 1);
    }
    return usage(stderr, NULL, 2);
}
