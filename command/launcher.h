/* The launchers of MPI programs, and how their options are written. */
#ifndef MPIACCEL_LAUNCHER_H
#define MPIACCEL_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

/* How the option that sets an environment variable of the ranks is written */
enum option_form {
    OPTION_ASSIGNS, /* -x NAME=VALUE, or -x NAME for the value in the environment */
    OPTION_PAIR,    /* -genv NAME VALUE, or -genv NAME=VALUE */
    OPTION_LIST,    /* --export=ALL,NAME=VALUE,NAME; ALL or NONE of the environment */
};

/* A family of launchers with the same options. A list is a string of words separated by blanks; in
 * lists of options, they are without hyphens. A list or name may be empty. */
struct launcher {
    const char *name;
    const char *programs;    /* list of names that only launchers of this family have */
    const char *versions[4]; /* `mpirun --version` of this family prints one of these */
    enum option_form form;
    const char *option;       /* sets a variable for the ranks of one context, or for all ranks */
    const char *local_option; /* sets it for one context, if `option` sets it for all ranks */
    const char *cannot_pass;  /* characters that a value must not contain */
    const char *rival;        /* a parameter that cannot be combined with `option` */
    const char *contexts;     /* options that name a file of contexts, which replaces the others */
    const char *files;        /* options that name a file of options */
    const char *letters;      /* options with one hyphen are letters: those with an argument */
    const char *one, *two;    /* lists of other options that have one or two arguments */
};

/* The family of this program; starts `PROGRAM --version` if the name does not determine it. NULL:
 * no launcher, or an unknown one. */
const struct launcher *launcher_of(const char *program);

/* The number in what `PROGRAM --version` prints; empty: there is none. */
void launcher_version(const char *program, char *number, size_t room);

/* Whether a list of this header contains a word of this length. */
bool launcher_lists(const char *list, const char *word, size_t length);

#endif
