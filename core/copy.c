#include "core/copy.h"

#include "core/os_number.h"

/* On a machine that reports a last-level cache of 480 MiB, 64 MiB stay in the cache and 128 MiB do
 * not: virtual machines report caches that they share with others. */
enum { CACHE_MOST = 64 << 20, CACHE_UNKNOWN = 16 << 20 };

_Atomic size_t copy_cached;

/* Read from sysfs, since sysconf() returns the sum of all last-level caches of an EPYC package. */
static size_t last_level_cache(void)
{
    size_t kib = os_number("/sys/devices/system/cpu/cpu0/cache/index3/size");
    return kib ? kib << 10 : CACHE_UNKNOWN;
}

bool copy_caches_hold(size_t bytes)
{
    if (!copy_cached)
        copy_cached = min_size(last_level_cache(), CACHE_MOST);
    return bytes <= copy_cached;
}

bool copy_is_slow_between(const void *to, const void *from)
{
    return (((uintptr_t)to - (uintptr_t)from - 1) & 4095) < 63;
}

/* Where `rep movsb` is slow, long data are copied from the end, as glibc copies each piece:
 * otherwise nothing is prefetched, and memory that is not in the caches takes twice as long. */
void copy_long(void *to, const void *from, size_t bytes)
{
    size_t piece = bytes, some;
    bool backwards = false;
    bool overlapping = (uintptr_t)to - (uintptr_t)from < bytes;
    if (!overlapping && (bytes <= COPY_PIECE || copy_caches_hold(bytes))) {
        bool slow = copy_is_slow_between(to, from);
        piece = slow ? COPY_SHORT : COPY_PIECE;
        backwards = slow && bytes > COPY_PIECE;
    }
    for (size_t done = 0; done < bytes; done += some) {
        some = min_size(piece, bytes - done);
        size_t at = backwards ? bytes - done - some : done;
        memmove((char *)to + at, (const char *)from + at, some);
    }
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
    /* Order the non-temporal stores before a later plain store, such as the release of a lock,
     * which does not order them by itself. */
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
    for (size_t done = 0; done < bytes; done += PREFETCH_BLOCK) {
        size_t left = bytes - done, next = min_size(left, PREFETCH_BLOCK);
        prefetch_block_to_write(to + done + next, left - next);
        /* Do not use memcpy(): gcc compiles it to "rep movsq", which does not profit from the
         * prefetch. */
        memmove(to + done, from + done, next);
    }
}

/* The usual block sizes have loops of their own, in which a block takes one load and one store. */
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
