/* Refuses memory to the library, while the program and the host still get it. Include it in a
 * program that defines no allocation functions of its own. */
#ifndef STARVE_H
#define STARVE_H

#ifndef _GNU_SOURCE
#error "starve.h needs _GNU_SOURCE"
#endif

#include "test.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>

static uintptr_t starve_low, starve_high; /* the library's object; 0: it is not loaded */
static _Atomic int starve_first = INT_MAX, starve_last, starve_requests, starve_refusals;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool starve_refuses(void *caller)
{
    if ((uintptr_t)caller < starve_low || (uintptr_t)caller >= starve_high)
        return false;
    int number = ++starve_requests;
    if (number < starve_first || number > starve_last)
        return false;
    starve_refusals++;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return starve_refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return starve_refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *reallocarray(void *at, size_t count, size_t size)
{
    return starve_refuses(__builtin_return_address(0)) ? NULL : __libc_realloc(at, count * size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return starve_refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

static int starve_find(struct dl_phdr_info *library, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(library->dlpi_name, "libmpiaccel.so"))
        return 0;
    starve_low = starve_high = library->dlpi_addr;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        uintptr_t end = starve_low + library->dlpi_phdr[i].p_vaddr + library->dlpi_phdr[i].p_memsz;
        if (library->dlpi_phdr[i].p_type == PT_LOAD && end > starve_high)
            starve_high = end;
    }
    return 1;
}

/* Call once, at the start. */
static inline void starve_open(void)
{
    dl_iterate_phdr(starve_find, NULL);
}

/* From now on refuse the library's requests number `first` to `last`, counted from 1. */
static inline void starve(int first, int last)
{
    starve_first = INT_MAX;
    starve_requests = 0;
    starve_last = last;
    starve_first = first;
}

static inline void starve_end(void)
{
    starve_first = INT_MAX;
}

#endif
