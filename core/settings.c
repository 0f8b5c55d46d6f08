/* The list of all settings, in a file of its own: only the command uses it, and the linker leaves
 * it out of the libraries, where its pointers would have to be relocated in each process. */
#include "core/config.h"

const struct setting config_settings[] = {
#define SETTING(field, name, kind, value, help) {name, #kind, #value, help},
#include "core/settings.def"
#undef SETTING
    {0},
};
