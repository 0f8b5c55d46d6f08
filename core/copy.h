/* Moving bytes. */
#ifndef MPIACCEL_COPY_H
#define MPIACCEL_COPY_H

#include "core/base.h"

#include <stdatomic.h>
#include <string.h>

/* Non-temporal stores, fenced before it returns: the caller's next release orders them like any
 * other store. */
void copy_nontemporal(void *to, const void *from, size_t bytes);

/* Whether so many bytes, all that the ranks of a node read and write in an operation, stay in the
 * caches until the next one. If not, copy_nontemporal() is faster. */
bool copy_caches_hold(size_t bytes);

/* How many do; 0: not known yet. Set by tests. */
extern _Atomic size_t copy_cached;

/* `blocks` blocks of `bytes` each, their starts `to_stride` and `from_stride` bytes apart. */
void copy_blocks(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                 size_t bytes, size_t blocks);

/* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): it thinks that an operand which stays where
 * it lies, as only those in the heap do, may be in private memory. */

/* Elements of 1, 2, 4 and 8 bytes move in one access each: a peer that polls one never sees half of
 * it. (memmove() of the C library moves two bytes in two steps.) The areas are equal or do not
 * overlap. */
HOT_INLINE void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (LIKELY(bytes == 8))
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 2)
        memcpy(to, from, 2);
    else
        memmove(to, from, bytes);
}

/* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */

/* Bring a line here to be written. */
static inline void prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

/* As many lines as may be on their way at once. */
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

/* The same to shared memory that peers have read last, so that its lines are in their caches: each
 * block's lines come here while the one before is copied (see HACKING.md). */
void copy_blocks_to_peers(char *to, const char *from, size_t bytes);
HOT_INLINE void copy_to_peers(void *to, const void *from, size_t bytes)
{
    if (LIKELY(bytes < PREFETCH_BLOCK))
        copy_bytes(to, from, bytes);
    else
        copy_blocks_to_peers(to, from, bytes);
}

#endif
