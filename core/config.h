/* The settings: read once from the environment, then never changed. */
#ifndef MPIACCEL_CONFIG_H
#define MPIACCEL_CONFIG_H

#include "core/base.h"

#include <sys/types.h>

/* How a rank waits inside MPI, ordered by how much processor time it leaves to other threads, the
 * least first. */
enum wait_setting { WAIT_spin, WAIT_auto, WAIT_yield, WAIT_sleep };

/* The way in which long private data are copied between processes: see core/copy_policy.h. */
enum copies_setting { COPIES_auto, COPIES_os, COPIES_host, COPIES_shared, COPIES_streaming };

struct config {
#define SWITCH                                  bool
#define CHOICE                                  unsigned long
#define NUMBER                                  unsigned long
#define SIZE                                    size_t
#define TEXT                                    const char *
#define WAIT                                    enum wait_setting
#define COPIES                                  enum copies_setting
#define SETTING(field, name, kind, value, help) kind field;
#include "core/settings.def"
#undef SETTING
#undef SWITCH
#undef CHOICE
#undef NUMBER
#undef SIZE
#undef TEXT
#undef WAIT
#undef COPIES
};

extern struct config config;
extern pid_t config_process; /* the process that read them; a child of fork is another one */

/* Read the environment into `config`. Calls `warn` (NULL: nothing) with one line for each invalid
 * value, whose setting then has its default, and for each unknown MPIACCEL_ name, except for those
 * that modules set for a package, such as MPIACCEL_ROOT. */
void config_read(char **environment, void (*warn)(const char *line));

/* The shortest block that malloc takes from the shared heap, in bytes. */
size_t config_heap_min(void);

/* Read the text of one setting, whose name has `length` characters, into `config`. Returns NULL, or
 * what is wrong with it: a predicate such as "is neither 0 nor 1; using the default". */
const char *config_read_one(const char *name, size_t length, const char *value);

struct setting {
    const char *name, *kind, *standard, *help;
};

/* All settings, terminated by a NULL name, for `mpiaccel info`. */
extern const struct setting config_settings[];

/* Parse "64k" as 65536. False: not a size. */
bool config_parse_size(const char *text, size_t *bytes);

#endif
