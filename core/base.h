/* Attributes and integer helpers for all files. */
#ifndef MPIACCEL_BASE_H
#define MPIACCEL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD        __attribute__((cold, noinline))
#define NOINLINE    __attribute__((noinline))
#define HOT_INLINE  static inline __attribute__((always_inline))

/* Distance between words of different writers. Two cache lines, because x86 prefetches lines in
 * pairs. */
#define LINE 128

static inline size_t round_up(size_t n, size_t power_of_two)
{
    return (n + power_of_two - 1) & ~(power_of_two - 1);
}

static inline size_t round_down(size_t n, size_t power_of_two)
{
    return n & ~(power_of_two - 1);
}

static inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
