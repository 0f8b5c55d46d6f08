#include "command/commands.h"

#include "command/library.h"
#include "command/preload.h"

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

/* Print the command as a line for a shell; with `parts`, a NUL stands where the program
 * of each context begins, and where it ends. */
static int print(const struct preloaded *job, bool parts, bool statics)
{
    const size_t *bound = job->bounds, *last = bound + (parts ? job->bound_count : 0);
    const char *unset = job->environment && !*job->environment ? "-u LD_PRELOAD " : "";
    bool sets = job->environment && *job->environment;
    if (statics || job->environment)
        printf("env %s%s", unset, statics ? STATICS "=1 " : "");
    if (sets) {
        printf("LD_PRELOAD=");
        print_word(job->environment);
        putchar(' ');
    }
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
        if (!strcmp(*arguments, "--compare") && !only_print)
            return command_program("compare", arguments);
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
    bool statics = heap && !getenv(STATICS);
    if (statics)
        setenv(STATICS, "1", 1);
    struct preloaded job = preload_command(launcher_of(*arguments), arguments, library_path(),
                                           heap ? library_heap_path() : NULL);
    if (job.refusal) {
        fprintf(stderr, "mpiaccel: %s\n", job.refusal);
        return 2;
    }
    return only_print ? print(&job, parts, statics) : start(&job);
}
