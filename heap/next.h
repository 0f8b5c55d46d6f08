/* The allocator that comes after this one in the order of symbol lookup: glibc's, or jemalloc and
 * the like if the program is linked with it or preloads it.
 *
 * Its functions are found when one of them is first called, by dlsym(). That call comes from the
 * loader or a constructor, when the process has a single thread: glibc itself allocates before it
 * starts a second one. dlsym() of glibc before 2.34 allocates memory, and uses a static buffer if
 * the allocation fails. So every allocation that is requested meanwhile is refused.
 */
#ifndef MPIACCEL_HEAP_NEXT_H
#define MPIACCEL_HEAP_NEXT_H

#include <stddef.h>

/* FUNCTION(type, name, parameters, arguments). The functions that are missing here call one of
 * these. */
#define ALLOCATOR_FUNCTIONS                                                                        \
    FUNCTION(void, free, (void *block), (block))                                                   \
    FUNCTION(size_t, malloc_usable_size, (void *block), (block))                                   \
    FUNCTION(void *, realloc, (void *block, size_t size), (block, size))                           \
    FUNCTION(void *, reallocarray, (void *block, size_t count, size_t size), (block, count, size)) \
    FUNCTION(void *, malloc, (size_t size), (size))                                                \
    FUNCTION(void *, calloc, (size_t count, size_t size), (count, size))                           \
    FUNCTION(void *, memalign, (size_t align, size_t size), (align, size))                         \
    FUNCTION(void *, aligned_alloc, (size_t align, size_t size), (align, size))                    \
    FUNCTION(int, posix_memalign, (void **result, size_t align, size_t size), (result, align, size))

struct allocator {
#define FUNCTION(type, name, parameters, arguments) type(*name) parameters;
    ALLOCATOR_FUNCTIONS
#undef FUNCTION
};

/* Hidden: the compiler addresses it directly, without the global offset table. */
extern struct allocator next __attribute__((visibility("hidden")));

#endif
