/* Generates man pages from templates: copies standard input and replaces the lines @VERSION@,
 * @SETTINGS@, @CALLS@ and @REASONS@ with tables made from the lists of the library. */
#include "core/config.h"
#include "core/stats.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct setting settings[] = {
#define SETTING(field, name, kind, value, help) {name, #kind, #value, help},
#include "core/settings.def"
#undef SETTING
};

static const char *const calls[] = {
#define CALL(name, arguments) "MPI_" #name,
#define HOST(name, arguments)
#include "pmpi_wrap/calls.def"
};

static const struct {
    const char *text, *advice;
} reasons[] = {
#define REASON(name, text, advice) {text, advice},
#include "core/reasons.def"
#undef REASON
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Print with an upper-case first letter and a full stop. */
static void print_sentence(const char *text)
{
    printf("%c%s.\n", toupper((unsigned char)text[0]), text + 1);
}

static void print_settings(void)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < COUNT(settings); i++) {
        const struct setting *s = &settings[i];
        printf(".It Ev %s Pq ", s->name);
        for (const char *c = s->kind; *c; c++)
            putchar(tolower((unsigned char)*c));
        printf("%s%s\n", strcmp(s->kind, "TEXT") ? ", default " : "",
               strcmp(s->kind, "TEXT") ? s->standard : "");
        print_sentence(s->help);
    }
    printf(".El\n");
}

static void print_calls(void)
{
    for (size_t i = 0; i < COUNT(calls); i++)
        printf(".Fn %s%s\n", calls[i], i + 1 < COUNT(calls) ? " ," : " .");
}

static void print_reasons(void)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < COUNT(reasons); i++) {
        printf(".It %s\n", reasons[i].text);
        print_sentence(reasons[i].advice);
    }
    printf(".El\n");
}

int main(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "@SETTINGS@\n"))
            print_settings();
        else if (!strcmp(line, "@CALLS@\n"))
            print_calls();
        else if (!strcmp(line, "@REASONS@\n"))
            print_reasons();
        else if (!strcmp(line, "@VERSION@\n"))
            printf(".Os libmpiaccel %s\n", MPIACCEL_VERSION);
        else
            fputs(line, stdout);
    }
    return ferror(stdin) || ferror(stdout) || fflush(stdout);
}
