#include "core/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

pid_t config_process;

struct config config = {
#define VALUE_SWITCH(value)                     value
#define VALUE_CHOICE(value)                     value
#define VALUE_NUMBER(value)                     value
#define VALUE_SIZE(value)                       value
#define VALUE_TEXT(value)                       value
#define VALUE_WAIT(value)                       WAIT_##value
#define VALUE_COPIES(value)                     COPIES_##value
#define SETTING(field, name, kind, value, help) .field = VALUE_##kind(value),
#include "core/settings.def"
#undef SETTING
};

static bool parse_number(const char *text, const char **end, unsigned long *value)
{
    char *stop;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtoul(text, &stop, 10);
    *end = stop;
    return !errno;
}

bool config_parse_size(const char *text, size_t *bytes)
{
    static const char units[] = "kmgt";
    const char *end;
    unsigned long value;
    if (!parse_number(text, &end, &value))
        return false;
    if (*end) {
        const char *unit = strchr(units, *end | 0x20);
        if (!unit || end[1])
            return false;
        unsigned shift = 10 * (unsigned)(unit - units + 1);
        if (value > (SIZE_MAX >> shift))
            return false;
        value <<= shift;
    }
    *bytes = value;
    return true;
}

static bool read_SWITCH(const char *text, bool *field)
{
    if ((text[0] != '0' && text[0] != '1') || text[1])
        return false;
    *field = text[0] == '1';
    return true;
}

static bool read_CHOICE(const char *text, unsigned long *field)
{
    if (text[0] < '0' || text[0] > '2' || text[1])
        return false;
    *field = (unsigned long)(text[0] - '0');
    return true;
}

static bool read_NUMBER(const char *text, unsigned long *field)
{
    const char *end;
    unsigned long value;
    if (!parse_number(text, &end, &value) || *end)
        return false;
    *field = value;
    return true;
}

static bool read_SIZE(const char *text, size_t *field)
{
    return config_parse_size(text, field);
}

/* A word or a digit that is meant as a switch is not a name. The text is copied, because a program
 * may overwrite its environment, as setproctitle() does. The copy is never freed, and a second
 * reading of the same text keeps the first copy. */
static bool read_TEXT(const char *text, const char **field)
{
    static const char *const others[] = {"yes", "no", "on", "off", "true", "false"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcasecmp(text, others[i]))
            return false;
    if (text[0] >= '2' && text[0] <= '9' && !text[1])
        return false;
    if (!*text || !strcmp(text, "0"))
        *field = NULL;
    else if (!*field || strcmp(*field, text) != 0)
        *field = strdup(text);
    return true;
}

/* Returns the index of a text among `count` names, or -1. */
static int index_of(const char *text, const char *const *names, int count)
{
    int i = 0;
    while (i < count && strcmp(text, names[i]) != 0)
        i++;
    return i < count ? i : -1;
}

static bool read_WAIT(const char *text, enum wait_setting *field)
{
    static const char *const names[] = {"spin", "auto", "yield", "sleep"};
    int i = index_of(text, names, sizeof names / sizeof *names);
    if (i >= 0)
        *field = (enum wait_setting)i;
    return i >= 0;
}

static bool read_COPIES(const char *text, enum copies_setting *field)
{
    static const char *const names[] = {"auto", "os", "host", "shared", "streaming"};
    int i = index_of(text, names, sizeof names / sizeof *names);
    if (i >= 0)
        *field = (enum copies_setting)i;
    return i >= 0;
}

#define WRONG_SWITCH "is neither 0 nor 1; using the default"
#define WRONG_CHOICE "is not 0, 1 or 2; using the default"
#define WRONG_NUMBER "is not a non-negative integer; using the default"
#define WRONG_SIZE   "is not a size such as 512m or 2g; using the default"
#define WRONG_TEXT   "is neither 1 nor the name of a file, such as stats.json; using the default"
#define WRONG_WAIT   "is not auto, spin, yield or sleep; using the default"
#define WRONG_COPIES "is not auto, os, host, shared or streaming; using the default"

/* Whether modules of sites set a variable of this name, for the folder or version of a package. */
static bool is_set_by_modules(const char *name, size_t length)
{
    static const char *const names[] = {"MPIACCEL_ROOT",    "MPIACCEL_HOME",   "MPIACCEL_DIR",
                                        "MPIACCEL_BASE",    "MPIACCEL_PATH",   "MPIACCEL_PREFIX",
                                        "MPIACCEL_BIN",     "MPIACCEL_LIB",    "MPIACCEL_INC",
                                        "MPIACCEL_INCLUDE", "MPIACCEL_VERSION"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !memcmp(name, names[i], length))
            return true;
    return false;
}

const char *config_read_one(const char *name, size_t length, const char *value)
{
#define SETTING(field, setting, kind, standard, help)                \
    if (strlen(setting) == length && !memcmp(name, setting, length)) \
        return read_##kind(value, &config.field) ? NULL : WRONG_##kind;
#include "core/settings.def"
#undef SETTING
    return is_set_by_modules(name, length) ? NULL
                                           : "is not a setting of this version; it has no effect";
}

void config_read(char **environment, void (*warn)(const char *line))
{
    static const char prefix[] = "MPIACCEL";
    config_process = getpid();
    for (char **entry = environment; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0 || !equals)
            continue;
        char after = (*entry)[sizeof prefix - 1];
        if (after != '_' && after != '=')
            continue;
        const char *wrong = config_read_one(*entry, (size_t)(equals - *entry), equals + 1);
        if (wrong && warn) {
            char line[512];
            snprintf(line, sizeof line, "%s %s", *entry, wrong);
            warn(line);
        }
    }
}

/* Blocks of fewer pages would take much more memory than malloc's. */
size_t config_heap_min(void)
{
    return config.heap_min ? config.heap_min : 4 * (size_t)sysconf(_SC_PAGESIZE);
}
