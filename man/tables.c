/* Generates tables from the lists of the library.
 *
 *   tables <page.in >page             a man page: replaces the lines @VERSION@, @SETTINGS@, @CALLS@
 *                                     and @REASONS@ of its template
 *   tables markdown <page.md >new.md  a document: replaces what stands between the lines
 *                                     <!-- settings: make reference --> (or calls, reasons or
 *                                     statistics) and <!-- end -->
 *   tables schema <schema >new        the schema of the statistics: replaces consecutive properties
 *                                     that refer to #/$defs/number by the numbers of their object
 */
#include "contact.h"
#include "core/config.h"
#include "version.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct setting settings[] = {
#define SETTING(field, name, kind, value, help) {name, #kind, #value, help},
#include "core/settings.def"
#undef SETTING
};

/* What the library does with a call: the sections of the document */
static const char *const treatments[] = {
    "Performed by the library, or left to the host with a reason",
    "Left to the host, and counted",
    "Left to the host, which waits or polls in these calls: the library changes how the rank waits",
    "Left to the host; afterwards the library wakes a receiver that sleeps",
    "Left to the host; intercepted for the statistics, or to detect handles that are used again",
};
enum treatment { HANDLED, COUNTED, WAITED, SENT, OBSERVED };

static const struct {
    const char *name;
    enum treatment treatment;
} calls[] = {
#define CALL(name, arguments)             {"MPI_" #name, HANDLED},
#define HOST(name, arguments)             {"MPI_" #name, COUNTED},
#define WAITING(name, arguments)          {"MPI_" #name, WAITED},
#define POLLING(name, arguments, found)   {"MPI_" #name, WAITED},
#define SEND(name, arguments, rank, comm) {"MPI_" #name, SENT},
#define MESSAGE(name, arguments)          {"MPI_" #name, OBSERVED},
#define OTHER(name, arguments)            {"MPI_" #name, OBSERVED},
#include "pmpi_wrap/calls.def"
};

static const struct {
    const char *text, *cause, *advice;
} reasons[] = {
#define REASON(name, text, cause, advice) {text, cause, advice},
#include "core/reasons.def"
#undef REASON
};

static const struct number {
    const char *object, *key, *meaning;
} numbers[] = {
#define STAT_OF_CALL(member, object, key, shown_if, meaning) {object, key, meaning},
#define STAT(member, object, key, meaning)                   {object, key, meaning},
#include "core/statistics.def"
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Print with an upper-case first letter and a full stop. */
static void print_sentence(const char *text)
{
    printf("%c%s.\n", toupper((unsigned char)text[0]), text + 1);
}

static void print_lower(const char *text)
{
    for (; *text; text++)
        putchar(tolower((unsigned char)*text));
}

/* ---- man pages ---- */

static void man_settings(void)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < COUNT(settings); i++) {
        const struct setting *s = &settings[i];
        printf(".It Ev %s Pq ", s->name);
        print_lower(s->kind);
        printf("%s%s\n", strcmp(s->kind, "TEXT") ? ", default " : "",
               strcmp(s->kind, "TEXT") ? s->standard : "");
        print_sentence(s->help);
    }
    printf(".El\n");
}

static void man_calls(void)
{
    const char *before = "";
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (calls[i].treatment != HANDLED)
            continue;
        printf("%s.Fn %s", before, calls[i].name);
        before = " ,\n";
    }
    printf(" .\n");
}

static void man_reasons(void)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < COUNT(reasons); i++) {
        printf(".It %s\n", reasons[i].text);
        printf("Cause: %s.\n.br\nRemedy: %s.\n", reasons[i].cause, reasons[i].advice);
    }
    printf(".El\n");
}

static void print_man_page(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "@SETTINGS@\n"))
            man_settings();
        else if (!strcmp(line, "@CALLS@\n"))
            man_calls();
        else if (!strcmp(line, "@REASONS@\n"))
            man_reasons();
        else if (!strcmp(line, "@VERSION@\n"))
            printf(".Os libmpiaccel %s\n", MPIACCEL_VERSION);
        else if (!strcmp(line, "@CONTACT@\n"))
            puts(MPIACCEL_CONTACT ".");
        else
            fputs(line, stdout);
    }
}

/* ---- Markdown ---- */

static void markdown_settings(void)
{
    printf("| name | kind | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT(settings); i++) {
        const struct setting *s = &settings[i];
        printf("| `%s` | ", s->name);
        print_lower(s->kind);
        printf(" | %s | %s |\n", strcmp(s->kind, "TEXT") ? s->standard : "", s->help);
    }
}

static void markdown_calls(void)
{
    for (size_t t = 0; t < COUNT(treatments); t++) {
        const char *before = "";
        printf("### %s\n\n", treatments[t]);
        for (size_t i = 0; i < COUNT(calls); i++) {
            if (calls[i].treatment != t)
                continue;
            printf("%s`%s`", before, calls[i].name);
            before = ",\n";
        }
        printf("\n\n");
    }
}

static void markdown_reasons(void)
{
    printf("| reason | cause | remedy |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT(reasons); i++)
        printf("| `%s` | %s | %s |\n", reasons[i].text, reasons[i].cause, reasons[i].advice);
}

static void markdown_statistics(void)
{
    printf("| key | meaning |\n|---|---|\n");
    for (size_t i = 0; i < COUNT(numbers); i++)
        printf("| `%s%s%s` | %s |\n", numbers[i].object, *numbers[i].object ? "." : "",
               numbers[i].key, numbers[i].meaning);
}

static void print_document(void)
{
    char line[4096];
    bool inside = false; /* a table, whose old lines are skipped */
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "<!-- end -->\n"))
            inside = false;
        if (!inside)
            fputs(line, stdout);
        if (strncmp(line, "<!-- ", 5) != 0 || !strstr(line, ": make reference -->"))
            continue;
        inside = true;
        if (!strncmp(line + 5, "settings:", 9))
            markdown_settings();
        else if (!strncmp(line + 5, "calls:", 6))
            markdown_calls();
        else if (!strncmp(line + 5, "reasons:", 8))
            markdown_reasons();
        else if (!strncmp(line + 5, "statistics:", 11))
            markdown_statistics();
    }
}

/* ---- JSON Schema ---- */

/* The number that a line of the schema describes; NULL: it describes none. */
static const struct number *number_in(const char *line)
{
    size_t indent = strspn(line, " "), length = strcspn(line + indent, ":");
    char quoted[64];
    for (size_t i = 0; strstr(line, "\"#/$defs/number\"") && i < COUNT(numbers); i++) {
        snprintf(quoted, sizeof quoted, "\"%s\"", numbers[i].key);
        if (strlen(quoted) == length && !strncmp(line + indent, quoted, length))
            return &numbers[i];
    }
    return NULL;
}

static void print_properties(const char *object, size_t indent, const char *end)
{
    const struct number *last = NULL;
    for (const struct number *n = numbers; n < numbers + COUNT(numbers); n++)
        if (!strcmp(n->object, object))
            last = n;
    for (const struct number *n = numbers; n <= last; n++)
        if (!strcmp(n->object, object))
            printf("%*s\"%s\": {\"$ref\": \"#/$defs/number\", \"description\": \"%s\"}%s",
                   (int)indent, "", n->key, n->meaning, n == last ? end : ",\n");
}

static void print_schema(void)
{
    char line[4096];
    const struct number *before = NULL, *number; /* in the line before, and in this one */
    size_t indent = 0;
    const char *end = "";
    for (; fgets(line, sizeof line, stdin); before = number) {
        number = number_in(line);
        if (before && !number)
            print_properties(before->object, indent, end);
        if (!number)
            fputs(line, stdout);
        indent = strspn(line, " ");
        end = strstr(line, "},\n") ? ",\n" : "\n";
    }
}

int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "markdown"))
        print_document();
    else if (count > 1 && !strcmp(arguments[1], "schema"))
        print_schema();
    else
        print_man_page();
    return ferror(stdin) || ferror(stdout) || fflush(stdout);
}
