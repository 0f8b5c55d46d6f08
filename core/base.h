/* What every file uses: a few attributes and integer helpers. */
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

/* Two lines: the prefetcher of x86 fetches pairs, so words of different writers lie this far
 * apart. */
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
