#include "core/copy.h"

#include <unistd.h>

/* The last cache is not ours alone. Measured where it has 480 MiB: it holds 64, and not 128. */
enum { CACHE_SHARE = 4, CACHE_UNKNOWN = 16 << 20 };

_Atomic size_t copy_cached;

bool copy_caches_hold(size_t bytes)
{
    if (!copy_cached) {
        long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
        copy_cached = size > CACHE_SHARE ? (size_t)size / CACHE_SHARE : CACHE_UNKNOWN;
    }
    return bytes <= copy_cached;
}

#if defined(__x86_64__)
#include <emmintrin.h>

void copy_stream(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;
    if (to == from)
        return;
    size_t head = min_size(-(uintptr_t)t & 63, bytes);
    memcpy(t, f, head);
    t += head;
    f += head;
    bytes -= head;
    for (; bytes >= 64; t += 64, f += 64, bytes -= 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)f);
        __m128i b = _mm_loadu_si128((const __m128i *)(f + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(f + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(f + 48));
        _mm_stream_si128((__m128i *)t, a);
        _mm_stream_si128((__m128i *)(t + 16), b);
        _mm_stream_si128((__m128i *)(t + 32), c);
        _mm_stream_si128((__m128i *)(t + 48), d);
    }
    /* Non-temporal stores are not ordered by a later plain store, as a lock's release may be. */
    _mm_sfence();
    memcpy(t, f, bytes);
}
#else
void copy_stream(void *to, const void *from, size_t bytes)
{
    memmove(to, from, bytes);
}
#endif

void copy_blocks_to_peers(char *to, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PREFETCH_BLOCK) {
        size_t left = bytes - at, next = min_size(left, PREFETCH_BLOCK);
        prefetch_block_to_write(to + at + next, left - next);
        memmove(to + at, from + at, next); /* gcc's memcpy() of so many is "rep movsq", which is
                                            * as slow with these lines here as without */
    }
}

/* The block sizes of single elements, each with its own loop, so that the compiler moves a block
 * with one load and one store. */
void copy_blocks(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                 size_t bytes, size_t blocks)
{
    switch (bytes) {
    case 4:
        for (; blocks; blocks--, to += to_stride, from += from_stride)
            memcpy(to, from, 4);
        break;
    case 8:
        for (; blocks; blocks--, to += to_stride, from += from_stride)
            memcpy(to, from, 8);
        break;
    case 16:
        for (; blocks; blocks--, to += to_stride, from += from_stride)
            memcpy(to, from, 16);
        break;
    default:
        for (; blocks; blocks--, to += to_stride, from += from_stride)
            copy_bytes(to, from, bytes);
    }
}
