/* The allocator that comes after this one in the order of symbol lookup: glibc's, or jemalloc and
 * the like if the program is linked with it or preloads it.
 *
 * Its functions are found when one of them is first called, by dlsym(). That call comes from the
 * loader or a constructor, when the process has a single thread: glibc itself allocates before it
 * starts a second one. dlsym() of glibc before 2.34 allocates memory, and uses a static buffer if
 * there is none. So an allocation that is requested meanwhile fails.
 */
#ifndef MPIACCEL_HEAP_NEXT_H
#define MPIACCEL_HEAP_NEXT_H

#include <stddef.h>

/* NEXT(type, name, parameters, arguments) */
#define NEXT_FUNCTIONS                                                                         \
    NEXT(void *, malloc, (size_t size), (size))                                                \
    NEXT(void *, calloc, (size_t count, size_t size), (count, size))                           \
    NEXT(void *, realloc, (void *block, size_t size), (block, size))                           \
    NEXT(void *, reallocarray, (void *block, size_t count, size_t size), (block, count, size)) \
    NEXT(void *, memalign, (size_t align, size_t size), (align, size))                         \
    NEXT(void *, aligned_alloc, (size_t align, size_t size), (align, size))                    \
    NEXT(int, posix_memalign, (void **block, size_t align, size_t size), (block, align, size)) \
    NEXT(void *, valloc, (size_t size), (size))                                                \
    NEXT(void *, pvalloc, (size_t size), (size))                                               \
    NEXT(size_t, malloc_usable_size, (void *block), (block))                                   \
    NEXT(int, free, (void *block), (block))

struct next {
#define NEXT(type, name, parameters, arguments) type(*name) parameters;
    NEXT_FUNCTIONS
#undef NEXT
};

/* Hidden: the compiler addresses it directly, without the global offset table. */
extern struct next next __attribute__((visibility("hidden")));

#endif
