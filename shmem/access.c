/* Put and get (OpenSHMEM 1.5, 9.6 and 9.7). All data are copied before the call returns, so the
 * nonblocking calls are the same as the blocking ones. */
#include "shmem/shmem.h"

HOT_INLINE void put_bytes(void *to, const void *from, size_t bytes, int pe, const char *call)
{
    char *remote = shmem_at(to, bytes, pe, call);
    if (LIKELY(bytes))
        copy_bytes(remote, from, bytes);
}

HOT_INLINE void get_bytes(void *to, const void *from, size_t bytes, int pe, const char *call)
{
    const char *remote = shmem_at(from, bytes, pe, call);
    if (LIKELY(bytes))
        copy_bytes(to, remote, bytes);
}

/* The size of `count` elements. SIZE_MAX if it overflows: no memory is that large, so shmem_at()
 * fails. */
HOT_INLINE size_t bytes_of_elements(size_t count, size_t element)
{
    size_t bytes;
    return UNLIKELY(__builtin_mul_overflow(count, element, &bytes)) ? SIZE_MAX : bytes;
}

/* The number of bytes from the first byte of the first element to the last byte of the last one. */
static size_t span(size_t count, ptrdiff_t stride, size_t element)
{
    size_t between = bytes_of_elements(count - 1, bytes_of_elements((size_t)stride, element));
    return between > SIZE_MAX - element ? SIZE_MAX : between + element;
}

static void iput(void *to, const void *from, ptrdiff_t to_stride, ptrdiff_t from_stride,
                 size_t count, size_t element, int pe, const char *call)
{
    if (!count)
        return;
    char *remote = shmem_at(to, span(count, to_stride, element), pe, call);
    copy_blocks(remote, to_stride * (ptrdiff_t)element, from, from_stride * (ptrdiff_t)element,
                element, count);
}

static void iget(void *to, const void *from, ptrdiff_t to_stride, ptrdiff_t from_stride,
                 size_t count, size_t element, int pe, const char *call)
{
    if (!count)
        return;
    const char *remote = shmem_at(from, span(count, from_stride, element), pe, call);
    copy_blocks(to, to_stride * (ptrdiff_t)element, remote, from_stride * (ptrdiff_t)element,
                element, count);
}

void accel_shmem_putmem(void *to, const void *from, size_t bytes, int pe)
{
    put_bytes(to, from, bytes, pe, "shmem_putmem");
}

void accel_shmem_getmem(void *to, const void *from, size_t bytes, int pe)
{
    get_bytes(to, from, bytes, pe, "shmem_getmem");
}

void accel_shmem_putmem_nbi(void *to, const void *from, size_t bytes, int pe)
{
    put_bytes(to, from, bytes, pe, "shmem_putmem_nbi");
}

void accel_shmem_getmem_nbi(void *to, const void *from, size_t bytes, int pe)
{
    get_bytes(to, from, bytes, pe, "shmem_getmem_nbi");
}

/* Six calls with elements of one type. */
#define FAMILY(type, bytes, PUT, GET, PUT_NBI, GET_NBI, IPUT, IGET)                           \
    void accel_##PUT(type *to, const type *from, size_t count, int pe)                        \
    {                                                                                         \
        put_bytes(to, from, bytes_of_elements(count, bytes), pe, #PUT);                       \
    }                                                                                         \
    void accel_##GET(type *to, const type *from, size_t count, int pe)                        \
    {                                                                                         \
        get_bytes(to, from, bytes_of_elements(count, bytes), pe, #GET);                       \
    }                                                                                         \
    void accel_##PUT_NBI(type *to, const type *from, size_t count, int pe)                    \
    {                                                                                         \
        put_bytes(to, from, bytes_of_elements(count, bytes), pe, #PUT_NBI);                   \
    }                                                                                         \
    void accel_##GET_NBI(type *to, const type *from, size_t count, int pe)                    \
    {                                                                                         \
        get_bytes(to, from, bytes_of_elements(count, bytes), pe, #GET_NBI);                   \
    }                                                                                         \
    void accel_##IPUT(type *to, const type *from, ptrdiff_t to_stride, ptrdiff_t from_stride, \
                      size_t count, int pe)                                                   \
    {                                                                                         \
        iput(to, from, to_stride, from_stride, count, bytes, pe, #IPUT);                      \
    }                                                                                         \
    void accel_##IGET(type *to, const type *from, ptrdiff_t to_stride, ptrdiff_t from_stride, \
                      size_t count, int pe)                                                   \
    {                                                                                         \
        iget(to, from, to_stride, from_stride, count, bytes, pe, #IGET);                      \
    }

#define TYPED(name, type)                                                                        \
    FAMILY(type, sizeof(type), shmem_##name##_put, shmem_##name##_get, shmem_##name##_put_nbi,   \
           shmem_##name##_get_nbi, shmem_##name##_iput, shmem_##name##_iget)                     \
    void accel_shmem_##name##_p(type *to, type value, int pe)                                    \
    {                                                                                            \
        copy_bytes(shmem_at(to, sizeof value, pe, "shmem_" #name "_p"), &value, sizeof value);   \
    }                                                                                            \
    type accel_shmem_##name##_g(const type *from, int pe)                                        \
    {                                                                                            \
        type value;                                                                              \
        copy_bytes(&value, shmem_at(from, sizeof value, pe, "shmem_" #name "_g"), sizeof value); \
        return value;                                                                            \
    }
MPIACCEL_SHMEM_RMA_TYPES(TYPED)

#define SIZED(bits)                                                                 \
    FAMILY(void, bits / 8, shmem_put##bits, shmem_get##bits, shmem_put##bits##_nbi, \
           shmem_get##bits##_nbi, shmem_iput##bits, shmem_iget##bits)
MPIACCEL_SHMEM_SIZES(SIZED)
