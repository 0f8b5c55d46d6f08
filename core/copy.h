/* Copying bytes. */
#ifndef MPIACCEL_COPY_H
#define MPIACCEL_COPY_H

#include "core/base.h"

#include <stdatomic.h>
#include <string.h>

/* Copy with non-temporal stores. They are fenced before the function returns, so the next release
 * of the caller orders them like any other store. */
void copy_nontemporal(void *to, const void *from, size_t bytes);

/* Whether the caches hold `bytes` bytes (all that the ranks of a node read and write in one
 * operation) until the next operation. If not, copy_nontemporal() is faster. */
bool copy_caches_hold(size_t bytes);

/* The largest number of bytes for which copy_caches_hold() returns true; 0: not determined yet. Set
 * by tests. */
extern _Atomic size_t copy_cached;

/* Copy `blocks` blocks of `bytes` bytes each; their starts are `to_stride` and `from_stride` bytes
 * apart. */
void copy_blocks(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                 size_t bytes, size_t blocks);

/* Whether `to` is 1 to 63 bytes past `from` modulo the page size. This is common: memory of
 * malloc() from 128 KiB on starts 16 bytes into a page, large blocks of the shared heap start at
 * one, and neighbouring blocks of malloc() start 16 bytes more than their length apart. `rep
 * movsb`, with which the OS copies, too, may be slow then. */
bool copy_is_slow_between(const void *to, const void *from);

/* Copy more than COPY_SHORT bytes, for which the C library may use `rep movsb`. On some AMD
 * processors that is slow for more than the L2 cache holds, and at distances for which
 * copy_is_slow_between() is true. In both cases this function copies in pieces,
 * if the caches hold the data (docs/decisions/058-copy-in-pieces.md). */
enum { COPY_SHORT = 2048, COPY_PIECE = 128 << 10 };
void copy_long(void *to, const void *from, size_t bytes);

/* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): the analyzer assumes that data passed by
 * reference may be in private memory; such data are always in the shared heap. */

/* Copy 1, 2, 4 or 8 bytes in one access, so a peer that polls them never reads half of an element.
 * (The C library's memmove() copies two bytes in two steps.) The areas may overlap. */
HOT_INLINE void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (LIKELY(bytes == 8))
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 2)
        memcpy(to, from, 2);
    else if (LIKELY(bytes <= COPY_SHORT))
        memmove(to, from, bytes);
    else
        copy_long(to, from, bytes);
}

/* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */

/* Prefetch a line for writing. */
static inline void prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

/* A core can fetch the lines of one block at the same time. */
enum { PREFETCH_LINE = 64, PREFETCH_BLOCK = 8 * PREFETCH_LINE };
static inline void prefetch_block_to_write(const char *at, size_t bytes)
{
    for (size_t i = 0; i < PREFETCH_BLOCK && i < bytes; i += PREFETCH_LINE)
        prefetch_to_write(at + i);
}

static inline void prefetch_block_to_read(const char *at, size_t bytes)
{
    for (size_t i = 0; i < PREFETCH_BLOCK && i < bytes; i += PREFETCH_LINE)
        __builtin_prefetch(at + i);
}

/* Copy to shared memory that peers were the last to read, so its lines are in their caches. While
 * it copies a block, it prefetches the lines of the next block for writing
 * (docs/decisions/019-prefetching.md). */
void copy_blocks_to_peers(char *to, const char *from, size_t bytes);
HOT_INLINE void copy_to_peers(void *to, const void *from, size_t bytes)
{
    if (LIKELY(bytes < PREFETCH_BLOCK))
        copy_bytes(to, from, bytes);
    else
        copy_blocks_to_peers(to, from, bytes);
}

#endif
