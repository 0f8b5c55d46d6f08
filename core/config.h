/* The settings: read once from the environment, never changed after. */
#ifndef MPIACCEL_CONFIG_H
#define MPIACCEL_CONFIG_H

#include "core/base.h"

struct config {
#define SWITCH                                  bool
#define NUMBER                                  unsigned long
#define SIZE                                    size_t
#define TEXT                                    const char *
#define SETTING(field, name, kind, value, help) kind field;
#include "core/settings.def"
#undef SETTING
#undef SWITCH
#undef NUMBER
#undef SIZE
#undef TEXT
};

extern struct config config;

/* Read the environment into `config`. `warn` is called with one line for each unknown MPIACCEL_
 * name and each bad value, which is replaced by its default; NULL: in silence. */
void config_read(char **environment, void (*warn)(const char *line));

struct setting {
    const char *name, *kind, *standard, *help;
};

/* All settings in order, ended by a NULL name, for `mpiaccel info`. */
extern const struct setting config_settings[];

/* "64k" -> 65536. False: not a size. */
bool config_parse_size(const char *text, size_t *bytes);

#endif
