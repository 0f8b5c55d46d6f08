#include "command/commands.h"

#include "command/launcher.h"
#include "command/library.h"
#include "command/preload.h"
#include "core/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+:,./@%";
    if (*word && !word[strspn(word, plain)]) {
        printf("%s", word);
        return;
    }
    putchar('\'');
    for (; *word; word++)
        printf(*word == '\'' ? "'\\''" : "%c", *word);
    putchar('\'');
}

/* Programs with large blocks of malloc often have large static arrays, too. A launcher passes the
 * settings of its environment on. */
#define STATICS "MPIACCEL_STATICS"

/* Whether an option of the command gives a setting the value that the environment has. An option
 * with the name alone takes it from the environment. */
static bool has_setting(char *const *command, const char *name, const char *value)
{
    size_t length = strlen(name);
    bool found = false;
    for (; *command; command++) {
        if (strncmp(*command, name, length) != 0)
            continue;
        if (!(*command)[length])
            return false;
        found |= (*command)[length] == '=' && !strcmp(*command + length + 1, value);
    }
    return found;
}

static void print_assignment(const char *name, const char *value)
{
    printf("%s=", name);
    print_word(value);
    putchar(' ');
}

/* Print the settings in the environment of this command, since the shell that runs the line may
 * have others; with `only`, print no other setting than this one. */
static void print_environment(const struct preloaded *job, const struct launcher *family,
                              const char *only)
{
    bool has_options = family && family->form == OPTION_ASSIGNS;
    bool unsets = job->environment && !*job->environment;
    const char *before = unsets ? "env -u LD_PRELOAD " : "env ";
    if (job->environment) {
        printf("%s", before);
        before = "";
    }
    for (const struct setting *s = config_settings; s->name; s++) {
        const char *value = getenv(s->name);
        if (!value || (only && strcmp(s->name, only) != 0) ||
            (has_options && has_setting(job->command, s->name, value)))
            continue;
        printf("%s", before);
        before = "";
        print_assignment(s->name, value);
    }
    if (job->environment && !unsets)
        print_assignment("LD_PRELOAD", job->environment);
}

/* Print the command as a line for a shell; with `parts`, a NUL stands where the program
 * of each context begins, and where it ends. */
static int print(const struct preloaded *job, bool parts)
{
    const size_t *bound = job->bounds, *last = bound + (parts ? job->bound_count : 0);
    for (size_t i = 0; job->command[i]; i++) {
        for (; bound < last && *bound == i; bound++)
            putchar('\0');
        print_word(job->command[i]);
        putchar(job->command[i + 1] ? ' ' : '\n');
    }
    for (; bound < last; bound++)
        putchar('\0');
    return 0;
}

static int start(const struct preloaded *job)
{
    if (job->environment && *job->environment)
        setenv("LD_PRELOAD", job->environment, 1);
    else if (job->environment)
        unsetenv("LD_PRELOAD");
    execvp(job->command[0], job->command);
    struct stat file;
    const char *reason = strerror(errno);
    if (errno == EACCES && !stat(job->command[0], &file))
        reason = S_ISDIR(file.st_mode) ? "it is a folder" : "it is not executable";
    fprintf(stderr, "mpiaccel: cannot start '%s': %s; give a program in PATH, or its path\n",
            job->command[0], reason);
    return 127;
}

int command_run(int count, char **arguments)
{
    (void)count;
    bool only_print = false, parts = false, heap = false;
    for (arguments++; *arguments && **arguments == '-'; arguments++) {
        if (!strcmp(*arguments, "--compare") && !only_print) {
            if (heap)
                *arguments-- = "--heap"; /* an option of that program, too */
            return command_program("compare", arguments);
        }
        if (!strcmp(*arguments, "--")) {
            arguments++;
            break;
        }
        if (!strcmp(*arguments, "--heap")) {
            heap = true;
            continue;
        }
        parts = !strcmp(*arguments, "--print-parts"); /* for command/jobs.py */
        if (!parts && strcmp(*arguments, "--print") != 0) {
            fprintf(stderr, "mpiaccel: run%s has no option %s; see mpiaccel run --help\n",
                    only_print ? " --print" : "", *arguments);
            return 2;
        }
        only_print = true;
    }
    if (!*arguments) {
        fprintf(stderr, "mpiaccel: run needs a command; see mpiaccel run --help\n");
        return 2;
    }
    if (!library_exists() || (heap && !library_heap_exists()))
        return 1;
    if (heap)
        setenv(STATICS, "1", 0);
    const struct launcher *family = launcher_of(*arguments);
    struct preloaded job =
        preload_command(family, arguments, library_path(), heap ? library_heap_path() : NULL);
    if (job.refusal) {
        fprintf(stderr, "mpiaccel: %s\n", job.refusal);
        return 2;
    }
    if (!only_print)
        return start(&job);
    /* The program that reads the parts inherits the environment, without what --heap sets. */
    print_environment(&job, family, !parts ? NULL : heap ? STATICS : "");
    return print(&job, parts);
}
