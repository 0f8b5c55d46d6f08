#include "heap/next.h"

#include <dlfcn.h>
#include <stdbool.h>

/* Find the next functions. False: a call further up is finding them, so this one comes from
 * dlsym(). */
static bool find_next(void)
{
    static bool is_finding;
    struct next found;
    if (is_finding)
        return false;
    is_finding = true;
#define NEXT(type, name, parameters, arguments) found.name = dlsym(RTLD_NEXT, #name);
    NEXT_FUNCTIONS
#undef NEXT
    next = found;
    is_finding = false;
    return true;
}

#define NEXT(type, name, parameters, arguments)       \
    static type first_##name parameters               \
    {                                                 \
        return find_next() ? next.name arguments : 0; \
    }
NEXT_FUNCTIONS
#undef NEXT

struct next next = {
#define NEXT(type, name, parameters, arguments) .name = first_##name,
    NEXT_FUNCTIONS
#undef NEXT
};
