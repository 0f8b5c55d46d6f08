/* The list of all settings. Only the command `mpiaccel` uses it. It is in its own file so that the
 * linker can leave it out of the libraries, in which the loader would relocate its pointers in each
 * process. */
#include "core/config.h"

const struct setting config_settings[] = {
#define SETTING(field, name, kind, value, help) {name, #kind, #value, help},
#include "core/settings.def"
#undef SETTING
    {0},
};
