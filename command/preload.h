/* Command lines whose ranks run with a library preloaded. */
#ifndef MPIACCEL_PRELOAD_H
#define MPIACCEL_PRELOAD_H

#include "command/launcher.h"

struct preloaded {
    char **command; /* terminated by NULL */
    size_t *bounds; /* where the program of each context, with its arguments, begins and ends */
    size_t bound_count;
    char *environment; /* LD_PRELOAD of the command itself: "": removed; NULL: as it is */
    char *refusal;     /* NULL, or why the command cannot be started, and what to do instead */
};

/* The command line that preloads a library in all ranks which a command line starts, ahead of other
 * libraries that it preloads. Depends also on the environment, and on the files of options that the
 * command line names. If the family is NULL, the options of the command count as part of its
 * program. `heap`: a second library to preload before it, or NULL. */
struct preloaded preload_command(const struct launcher *family, char **command, const char *library,
                                 const char *heap);

#endif
