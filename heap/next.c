#include "heap/next.h"

#include <dlfcn.h>
#include <stdbool.h>

static bool find_next(void);

#define FUNCTION(type, name, parameters, arguments)         \
    static type first_##name parameters                     \
    {                                                       \
        return find_next() ? next.name arguments : (type)0; \
    }
ALLOCATOR_FUNCTIONS
#undef FUNCTION

#define FUNCTION(type, name, parameters, arguments) .name = first_##name,
struct allocator next = {ALLOCATOR_FUNCTIONS};
#undef FUNCTION

/* Find the next functions. False: a call further up is finding them, so this one comes from
 * dlsym(). */
static bool find_next(void)
{
    static bool is_finding;
    if (is_finding)
        return false;
    is_finding = true;
    struct allocator found;
#define FUNCTION(type, name, parameters, arguments) found.name = dlsym(RTLD_NEXT, #name);
    ALLOCATOR_FUNCTIONS
#undef FUNCTION
    next = found;
    is_finding = false;
    return true;
}
