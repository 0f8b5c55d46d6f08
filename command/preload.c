/* A launcher's command line consists of contexts, separated by colons. A context consists of
 * options, a program and the program's arguments. Only the options are changed. */
#include "command/preload.h"

#include "core/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VARIABLE "LD_PRELOAD"

/* ---- strings and words ---- */

static void *checked(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "mpiaccel: out of memory\n");
    exit(1);
}

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
    char *result;
    va_list values;
    va_start(values, format);
    int length = vasprintf(&result, format, values);
    va_end(values);
    return checked(length < 0 ? NULL : result);
}

struct words {
    char **word; /* terminated by NULL */
    size_t count;
};

static void add(struct words *words, char *word)
{
    words->word = checked(realloc(words->word, (words->count + 2) * sizeof *words->word));
    words->word[words->count++] = word;
    words->word[words->count] = NULL;
}

/* The contents of a file; NULL: it cannot be read. */
static char *contents_of(const char *path)
{
    char *contents = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    ssize_t length = getdelim(&contents, &size, 0, file);
    fclose(file);
    if (length >= 0)
        return contents;
    free(contents);
    return NULL;
}

/* ---- values of the variable ---- */

struct job {
    const struct launcher *family;
    const char *library, *heap; /* to preload */
    struct words command;       /* the new command line, as far as it is complete */
    size_t *bounds;             /* of the programs in it */
    size_t bound_count;
    struct words options; /* of the context after it */
    bool in_file;         /* this context comes from a file */
    char *refusal;
};

static void refuse(struct job *job, char *reason)
{
    if (!job->refusal)
        job->refusal = reason;
}

static const char *in_environment(void)
{
    const char *value = getenv(VARIABLE);
    return value ? value : "";
}

/* Whether a value of the variable names this library. */
static bool names_library(const char *value, const char *library)
{
    while (*value) {
        size_t length = strcspn(value, ": ");
        if (length == strlen(library) && !strncmp(value, library, length))
            return true;
        value += length + !!value[length];
    }
    return false;
}

/* The value with a library first. If the user has named the library, its place in the list remains:
 * some tools must come before it. */
static char *with_first(const char *library, const char *others)
{
    if (!library || names_library(others, library))
        return text("%s", others);
    return text("%s%s%s", library, *others ? ":" : "", others);
}

/* The value with our libraries first, and then those that the user preloads. */
static char *with_library(struct job *job, const char *others)
{
    char *value = with_first(job->heap, with_first(job->library, others));
    const char *bad = job->family ? strpbrk(value, job->family->cannot_pass) : NULL;
    if (bad)
        refuse(job, text("%s cannot pass " VARIABLE "=%s, because it contains '%c'; move the file",
                         job->family->name, value, *bad));
    return value;
}

/* The value that NAME or NAME=VALUE gives the variable; NULL: it is about another variable. */
static const char *assigned(const char *assignment)
{
    size_t length = strlen(VARIABLE);
    if (strncmp(assignment, VARIABLE, length) != 0)
        return NULL;
    if (assignment[length] == '=')
        return assignment + length + 1;
    return assignment[length] ? NULL : in_environment();
}

/* Slurm's list of variables, with the library. NONE and NIL exclude other words. */
static char *list_with_library(struct job *job, const char *list)
{
    char *rest = text("%s", list), *result = text("%s", "");
    const char *others = NULL, *all = "";
    for (char *word = strtok_r(rest, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        const char *value = assigned(word);
        if (value)
            others = value;
        else if (strcasecmp(word, "NONE") != 0 && strcasecmp(word, "NIL") != 0)
            result = text("%s%s,", result, word);
        if (!strcasecmp(word, "ALL"))
            all = in_environment();
    }
    return text("%s" VARIABLE "=%s", result, with_library(job, others ? others : all));
}

/* ---- options ---- */

static bool is_option(const char *word)
{
    return word && word[0] == '-' && word[1];
}

/* The argument of an option that has one: --app=FILE, or --app FILE. NULL: it is missing. */
static const char *argument_of(char **option)
{
    const char *attached = strchr(*option, '=');
    return attached ? attached + 1 : option[1];
}

/* Whether a list of the family names this option. Letters are in none. */
static bool is_one_of(const struct job *job, const char *list, const char *option)
{
    const char *name = option + strspn(option, "-");
    bool letters = *job->family->letters && option[1] != '-';
    return !letters && launcher_lists(list, name, strcspn(name, "="));
}

/* The number of words after an option that belong to it. */
static size_t arguments_of(const struct job *job, char **option)
{
    const struct launcher *family = job->family;
    const char *word = *option;
    if (*family->letters && word[1] != '-') {
        const char *letter = strpbrk(word, family->letters);
        return letter && !letter[1];
    }
    if (strchr(word, '='))
        return 0;
    if (is_one_of(job, family->option, word) || is_one_of(job, family->local_option, word))
        return family->form == OPTION_PAIR && option[1] && !strchr(option[1], '=') ? 2 : 1;
    if (is_one_of(job, family->two, word))
        return 2;
    return is_one_of(job, family->one, word) || is_one_of(job, family->files, word) ||
           is_one_of(job, family->contexts, word);
}

/* Add -x NAME=VALUE, or -genv NAME VALUE. */
static void add_setting(struct job *job, struct words *to, char *option, const char *others)
{
    char *value = with_library(job, others);
    add(to, option);
    if (job->family->form == OPTION_PAIR)
        add(to, VARIABLE);
    add(to, job->family->form == OPTION_PAIR ? value : text(VARIABLE "=%s", value));
}

/* Add --export=LIST. */
static void add_list(struct job *job, struct words *to, const char *list)
{
    add(to, text("--%s=%s", job->family->option, list_with_library(job, list)));
}

/* Add the user's option that sets the variable, with the library first. Returns false if it sets
 * another variable. */
static bool add_merged(struct job *job, char *option, const char *argument, const char *second)
{
    const char *others = assigned(argument);
    if (job->family->form == OPTION_LIST)
        add_list(job, &job->options, argument);
    else if (others)
        add_setting(job, &job->options, option, second ? second : others);
    return job->family->form == OPTION_LIST || others;
}

/* Add an option of ours to a context in which the user sets none. */
static void add_ours(struct job *job)
{
    const char *list = getenv("SRUN_EXPORT_ENV");
    list = list ? list : getenv("SLURM_EXPORT_ENV");
    if (job->family->form == OPTION_LIST)
        add_list(job, &job->command, list && *list ? list : "ALL");
    else
        add_setting(job, &job->command, text("-%s", job->family->option), in_environment());
}

/* The words of a file of contexts, one per line, which may end with a colon. */
static struct words contexts_of(const char *path)
{
    struct words words = {0};
    char *rest = contents_of(path), *in_line;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        line[strcspn(line, "#")] = 0;
        char *word = strtok_r(line, " \t", &in_line);
        if (word && words.count && strcmp(words.word[words.count - 1], ":") != 0)
            add(&words, ":");
        for (; word; word = strtok_r(NULL, " \t", &in_line))
            add(&words, word);
    }
    return words;
}

static void check_file(struct job *job, const char *path)
{
    const char *contents = contents_of(path);
    if (contents && strstr(contents, VARIABLE))
        refuse(job, text("%s sets " VARIABLE "; add %s to it there, and start the job without "
                         "`mpiaccel run`",
                         path, job->library));
}

static void check_rival(struct job *job, bool is_used)
{
    if (is_used && *job->family->rival)
        refuse(job, text("%s does not combine the parameter %s with -%s; pass its variables with "
                         "-%s too",
                         job->family->name, job->family->rival, job->family->option,
                         job->family->option));
}

/* ---- contexts ---- */

/* Add one option, and return the word after its arguments. An option that sets the variable is
 * changed; if it does so for all ranks of the context, `is_set` becomes true. */
static char **add_option(struct job *job, char **option, bool *is_set)
{
    const struct launcher *family = job->family;
    const char *argument = argument_of(option);
    size_t count = 0, wanted = arguments_of(job, option);
    while (count < wanted && option[count + 1])
        count++;
    char **next = option + 1 + count;
    bool general = is_one_of(job, family->option, *option);
    if (argument && count == wanted) {
        if ((general || is_one_of(job, family->local_option, *option)) &&
            add_merged(job, *option, argument, count == 2 ? option[2] : NULL)) {
            *is_set = *is_set || general;
            return next;
        }
        if (is_one_of(job, family->files, *option))
            check_file(job, argument);
        if (is_one_of(job, family->two, *option))
            check_rival(job, !strcmp(argument, family->rival));
    }
    while (option < next)
        add(&job->options, *option++);
    return next;
}

/* Add the options of one context, and return the word after them. The contexts of --app FILE or
 * -configfile FILE replace the program on the command line and all that follows it; options before
 * and after FILE remain. With Hydra, FILE may contain options only, and the program follows. */
static char **add_options(struct job *job, char **word, bool *is_set)
{
    char **file_option = NULL;
    struct words contexts = {0};
    while (is_option(*word)) {
        bool has_file = is_one_of(job, job->family->contexts, *word) && !job->in_file;
        const char *file = has_file ? argument_of(word) : NULL;
        struct words found = file ? contexts_of(file) : (struct words){0};
        if (found.count) {
            contexts = found;
            file_option = word;
            word += strchr(*word, '=') ? 1 : 2;
        } else {
            word = add_option(job, word, is_set);
        }
    }
    if (!contexts.count)
        return word;
    job->in_file = true;
    if (*word && *job->family->local_option) {
        check_file(job, argument_of(file_option));
        add_option(job, file_option, is_set);
        return word;
    }
    return add_options(job, contexts.word, is_set);
}

/* Whether a word is NAME or NAME=VALUE. */
static bool have_variable(const struct words *words, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->word[i];
        if (!strncmp(word, name, length) && (!word[length] || word[length] == '='))
            return true;
    }
    return false;
}

/* Open MPI passes a variable to other nodes only if an option names it. */
static void add_settings_of_environment(struct job *job)
{
    if (job->family->form != OPTION_ASSIGNS)
        return;
    for (const struct setting *s = config_settings; s->name; s++) {
        const char *value = getenv(s->name);
        if (!value || strpbrk(value, job->family->cannot_pass) ||
            have_variable(&job->options, s->name))
            continue;
        add(&job->command, text("-%s", job->family->option));
        add(&job->command, text("%s=%s", s->name, value));
    }
}

static void add_bound(struct job *job)
{
    job->bounds = checked(realloc(job->bounds, (job->bound_count + 1) * sizeof *job->bounds));
    job->bounds[job->bound_count++] = job->command.count;
}

/* Add the program of a context. Returns the next context: the words after the colon, or NULL. */
static char **add_program(struct job *job, char **word)
{
    add_bound(job);
    for (; *word && strcmp(*word, ":") != 0; word++)
        add(&job->command, *word);
    add_bound(job);
    if (!*word)
        return NULL;
    add(&job->command, *word);
    return word + 1;
}

/* Add one context, and return the next one, or NULL. */
static char **add_context(struct job *job, char **word, bool is_set)
{
    job->options.count = 0;
    word = add_options(job, word, &is_set);
    if (!is_set)
        add_ours(job);
    add_settings_of_environment(job);
    for (size_t i = 0; i < job->options.count; i++)
        add(&job->command, job->options.word[i]);
    return add_program(job, word);
}

static void add_contexts(struct job *job, char **word)
{
    const struct launcher *family = job->family;
    char *parameter = text("OMPI_MCA_%s", family->rival);
    check_rival(job, getenv(parameter));
    bool is_first = true;
    while (word) {
        word = add_context(job, word, !is_first && *family->local_option);
        is_first = false;
    }
}

struct preloaded preload_command(const struct launcher *family, char **command, const char *library,
                                 const char *heap)
{
    struct job job = {.family = family, .library = library, .heap = heap};
    char *environment = NULL;
    if (strpbrk(library, ": "))
        refuse(&job, text(VARIABLE " cannot name %s, which contains a blank or a colon; install "
                                   "libmpiaccel in another folder",
                          library));
    if (!family)
        environment = with_library(&job, in_environment());
    else if (family->form == OPTION_LIST && getenv(VARIABLE))
        environment = ""; /* srun gives a value in its environment precedence over ALL,NAME=VALUE */
    add(&job.command, *command++);
    if (family)
        add_contexts(&job, command);
    while (!family && command)
        command = add_program(&job, command);
    return (struct preloaded){.command = job.command.word,
                              .bounds = job.bounds,
                              .bound_count = job.bound_count,
                              .environment = environment,
                              .refusal = job.refusal};
}
