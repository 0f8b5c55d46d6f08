/* The host's own functions, as Julia, ctypes and the like look them up: calls of these pass by the
 * library. A program that includes this defines _GNU_SOURCE. */
#ifndef PAST_LIBRARY_H
#define PAST_LIBRARY_H

#include "test.h"

#include <dlfcn.h>
#include <link.h>

struct search {
    const char *name;
    void *found;
};

/* The host is the library named libmpi or libmpich, without a further word, or libmpi_abi. */
static int search_in(struct dl_phdr_info *info, size_t size, void *argument)
{
    static const char *const hosts[] = {"libmpi.so", "libmpich.so", "libmpi_abi.so"};
    struct search *s = argument;
    const char *slash = strrchr(info->dlpi_name, '/'), *file = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (!strncmp(file, hosts[i], strlen(hosts[i]))) {
            void *host = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
            s->found = host ? dlsym(host, s->name) : NULL;
        }
    return s->found != NULL;
}

static inline void *find(const char *name)
{
    struct search s = {name, NULL};
    dl_iterate_phdr(search_in, &s);
    CHECK(s.found, "%s not found", name);
    return s.found;
}

#endif
