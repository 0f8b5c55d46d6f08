#include "core/copy.h"

#include "core/kernel_number.h"

/* Where the last cache is said to have 480 MiB, it holds 64, and not 128; where 32, so many. */
enum { CACHE_MOST = 64 << 20, CACHE_UNKNOWN = 16 << 20 };

_Atomic size_t copy_cached;

/* What the C library says of an EPYC's last cache is the sum of all that its package has. */
static size_t last_cache(void)
{
    size_t kib = kernel_number("/sys/devices/system/cpu/cpu0/cache/index3/size");
    return kib ? kib << 10 : CACHE_UNKNOWN;
}

bool copy_caches_hold(size_t bytes)
{
    if (!copy_cached)
        copy_cached = min_size(last_cache(), CACHE_MOST);
    return bytes <= copy_cached;
}

#if defined(__x86_64__)
#include <emmintrin.h>

void copy_nontemporal(void *to, const void *from, size_t bytes)
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
void copy_nontemporal(void *to, const void *from, size_t bytes)
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
