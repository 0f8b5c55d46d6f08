#include "pmpi_wrap/symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the loaded objects that may define a symbol. They are collected first and opened
 * later: a dlopen() inside dl_iterate_phdr() takes the loader's two locks in the opposite order of
 * another thread's dlopen(). */
struct objects {
    uint32_t hash; /* of the symbol */
    size_t count;
    char *name[1024];
};

/* The hash function of DT_GNU_HASH */
static uint32_t hash_of(const char *symbol)
{
    uint32_t hash = 5381;
    for (; *symbol; symbol++)
        hash = hash * 33 + (unsigned char)*symbol;
    return hash;
}

/* A table of an object: DT_GNU_HASH, DT_SYMTAB … of its dynamic section. NULL: it has none. */
static const void *table_of(const ElfW(Dyn) * entry, ElfW(Addr) base, ElfW(Sxword) tag)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        /* Some loaders replace the offset by the address, except in read-only sections. */
        ElfW(Addr) at = entry->d_un.d_ptr;
        if (entry->d_tag == tag)
            return (const void *)(at < base ? base + at : at);
    }
    return NULL;
}

/* The object's table of the hashes of the symbols that it defines. NULL: it has none. */
static const uint32_t *hashes_of(const struct dl_phdr_info *object)
{
    ElfW(Addr) base = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return table_of((const void *)(base + object->dlpi_phdr[i].p_vaddr), base, DT_GNU_HASH);
    return NULL;
}

/* Symbols with the same remainder of the hash are adjacent in the table; bit 0 of the last one's
 * hash is set, and of all others clear. */
static bool has_hash(const uint32_t *table, uint32_t hash)
{
    uint32_t buckets = table[0], first = table[1], filter_words = table[2];
    const uint32_t *bucket = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof *table);
    uint32_t i = buckets ? bucket[hash % buckets] : 0;
    if (i < first || !i)
        return false;
    const uint32_t *found = bucket + buckets + (i - first);
    while ((*found | 1) != (hash | 1) && !(*found & 1))
        found++;
    return (*found | 1) == (hash | 1);
}

/* Whether these are the hashes of this library, or of another copy that is loaded, too. Two copies
 * would mistake each other for the host and wait for each other, so no symbol is taken from one. */
static bool is_this_library(const uint32_t *table)
{
    return table && has_hash(table, hash_of("mpiaccel_version"));
}

static int collect_name(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    struct objects *objects = context;
    const uint32_t *table = hashes_of(object);
    bool may_define = (!table || has_hash(table, objects->hash)) && !is_this_library(table);
    if (object->dlpi_name[0] && objects->count < sizeof objects->name / sizeof *objects->name &&
        may_define)
        objects->name[objects->count++] = strdup(object->dlpi_name);
    return 0;
}

/* The object at `address` was loaded as `name`. */
static bool is_defined_in(const void *address, const char *name)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && !strcmp(info.dli_fname, name);
}

/* dlsym() on an object's handle also searches the object's dependencies. The check of the address
 * excludes a tool that depends on the host. Objects without the symbol are not opened: UCX
 * intercepts dlopen() and then searches all objects, and a program has hundreds of symbols and
 * objects. */
void *symbol_definer(const char *symbol, void **address)
{
    struct objects objects = {.hash = hash_of(symbol)};
    void *found = NULL;
    dl_iterate_phdr(collect_name, &objects);
    for (size_t i = 0; i < objects.count; i++) {
        char *name = objects.name[i];
        void *library = NULL;
        if (name && !found)
            library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (library) {
            void *definition = dlsym(library, symbol);
            if (definition && is_defined_in(definition, name)) {
                found = library;
                *address = definition;
            } else {
                dlclose(library);
            }
        }
        free(name);
    }
    return found;
}

mpi_fn *symbol_in(void *library, const char *prefix, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return (mpi_fn *)dlsym(library, symbol);
}

void *symbol_elsewhere(const char *symbol)
{
    void *address = NULL, *library = symbol_definer(symbol, &address);
    if (library)
        dlclose(library); /* the program or the host needs the object and keeps it loaded */
    return address;
}

void *symbol_next(const char *symbol)
{
    void *address = dlsym(RTLD_NEXT, symbol);
    return address ? address : symbol_elsewhere(symbol);
}

/* A table of the object at an address. NULL: the address is in no object, or in one without the
 * table. */
static const void *table_behind(const void *address, ElfW(Sxword) tag)
{
    Dl_info info;
    struct link_map *object;
    if (!dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP))
        return NULL;
    return table_of(object->l_ld, object->l_addr, tag);
}

/* dladdr() searches all symbols of an object, so the usual case comes first, in which nothing
 * stands between this library and the host. */
mpi_fn *symbol_onward(void *library, const char *name)
{
    mpi_fn *of_host = symbol_in(library, "PMPI_", name);
    mpi_fn *next = symbol_in(RTLD_NEXT, "PMPI_", name);
    bool is_next =
        next && next != of_host && !is_this_library(table_behind((void *)next, DT_GNU_HASH));
    return is_next ? next : of_host;
}

static bool same_object(mpi_fn *function, mpi_fn *other)
{
    Dl_info a, b;
    return function && other &&
           (function == other || (dladdr((void *)function, &a) && dladdr((void *)other, &b) &&
                                  a.dli_fbase == b.dli_fbase));
}

/* A tool that defines PMPI_X too, as Darshan does, does not count: it calls the host, not this
 * library. */
mpi_fn *symbol_of_tool(void *library, const char *name)
{
    mpi_fn *next = symbol_in(RTLD_NEXT, "MPI_", name);
    bool is_tool = next && !same_object(next, symbol_in(library, "MPI_", name)) &&
                   !same_object(next, symbol_in(RTLD_NEXT, "PMPI_", name));
    return is_tool ? next : NULL;
}

/* Symbols that an object uses but does not define are not hashed, and precede those that are. */
bool symbol_calls_pmpi(mpi_fn *function, const char *name)
{
    const uint32_t *hashes = table_behind((void *)function, DT_GNU_HASH);
    const ElfW(Sym) *symbols = table_behind((void *)function, DT_SYMTAB);
    const char *names = table_behind((void *)function, DT_STRTAB);
    if (!hashes || !symbols || !names)
        return true;
    uint32_t first_hashed = hashes[1];
    for (uint32_t i = 1; i < first_hashed; i++) {
        const char *used = names + symbols[i].st_name;
        if (!strncmp(used, "PMPI_", 5) && !strcmp(used + 5, name))
            return true;
    }
    return false;
}

const char *symbol_file(mpi_fn *function)
{
    Dl_info info;
    return dladdr((void *)function, &info) && info.dli_fname ? info.dli_fname : "a tool";
}
