/* mpiaccel: what a user does with the library besides preloading it. Each subcommand is a function
 * of commands.h, or a program in libexec/mpiaccel. */
#include "command/commands.h"
#include "command/library.h"
#include "contact.h"
#include "version.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int command_lib(int count, char **arguments)
{
    bool heap = count > 1 && !strcmp(arguments[1], "--heap");
    if (count > 1 + heap) {
        fprintf(stderr, "mpiaccel: lib has no option %s; see mpiaccel lib --help\n",
                arguments[1 + heap]);
        return 2;
    }
    if (!library_exists() || (heap && !library_heap_exists()))
        return 1;
    printf("%s%s%s\n", heap ? library_heap_path() : "", heap ? ":" : "", library_path());
    return 0;
}

static int command_version(int count, char **arguments)
{
    (void)count;
    (void)arguments;
    puts("libmpiaccel " MPIACCEL_VERSION);
    return 0;
}

static const struct command {
    const char *name;
    int (*function)(int count, char **arguments); /* NULL: a program */
    const char *arguments, *help;                 /* "": it takes none */
} commands[] = {
    {"bench", NULL, "[-n RANKS] [-o FOLDER]", "measure MPI calls with and without the library"},
    {"doctor", NULL, "[LAUNCHER...]", "find out what is not accelerated, and the cure"},
    {"info", command_info, "[--json]", "print version, machine and settings"},
    {"lib", command_lib, "[--heap]", "print the path of the library, for LD_PRELOAD"},
    {"report", NULL, "FILE...", "summarise statistics, or compare those of two jobs"},
    {"run", command_run, "[--heap] [--print] COMMAND...",
     "run a launcher or a program with the library preloaded"},
    {"run --compare", command_run, "[-n N] COMMAND...", /* an option of the line above */
     "run it N times with and N times without the library, and compare"},
    {"--version", command_version, "", "print the version; also -V"},
    {0},
};

int command_program(const char *name, char **arguments)
{
    int count = 0;
    while (arguments[count])
        count++;
    char **words = calloc((size_t)count + 3, sizeof *words);
    if (!words)
        return 127;
    words[0] = "python3";
    words[1] = (char *)library_program(name);
    words[2] = (char *)library_command();
    memcpy(words + 3, arguments + 1, (size_t)count * sizeof *words); /* the last one is NULL */
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, nobody can wait for a child */
    execvp(words[0], words);
    free(words);
    fputs("mpiaccel: this subcommand needs Python 3.6 or later, but python3 is not in PATH; "
          "install it\n",
          stderr);
    return 127;
}

/* Whether a line of the table is that of the subcommand, or of one of its options. */
static bool belongs_to(const struct command *c, const char *subcommand)
{
    size_t length = strlen(subcommand);
    return !strncmp(c->name, subcommand, length) && (!c->name[length] || c->name[length] == ' ');
}

/* Print the usage of a subcommand, or of all if `subcommand` is NULL. */
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
    fprintf(to, subcommand ? "See man %s.\n" : "See man %s, or mpiaccel SUBCOMMAND --help.\n",
            library_man_page());
    return status;
}

/* Print the name and the purpose of each subcommand, for the completion of shells. */
static int print_subcommands(void)
{
    for (const struct command *c = commands; c->name; c++)
        if (*c->name != '-' && !strchr(c->name, ' '))
            printf("%s\t%s\n", c->name, c->help);
    return 0;
}

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int run_command(const struct command *c, int count, char **arguments)
{
    if (c->function && count == 2 && is_help(arguments[1]))
        return usage(stdout, c->name, 0);
    if (!*c->arguments && count > 1) {
        fprintf(stderr, "mpiaccel: %s takes no arguments, not even '%s'; see mpiaccel --help\n",
                c->name, arguments[1]);
        return 2;
    }
    return c->function ? c->function(count, arguments) : command_program(c->name, arguments);
}

static int run_line(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr, NULL, 2);
    if (is_help(argv[1]))
        return usage(stdout, NULL, 0);
    if (!strcmp(argv[1], "-V"))
        argv[1] = "--version";
    if (!strcmp(argv[1], "--complete"))
        return print_subcommands();
    if (!strcmp(argv[1], "--contact")) /* for command/mpiaccel-doctor */
        return puts(MPIACCEL_CONTACT) < 0;
    for (const struct command *c = commands; c->name; c++)
        if (!strcmp(argv[1], c->name))
            return run_command(c, argc - 1, argv + 1);
    fprintf(stderr, "mpiaccel: there is no subcommand '%s'; see mpiaccel --help\n", argv[1]);
    return 2;
}

int main(int argc, char **argv)
{
    int status = run_line(argc, argv);
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    fprintf(stderr, "mpiaccel: cannot write to standard output: %m\n");
    return 1;
}
