/* OpenSHMEM's symmetric memory inside an MPI program: the ranks of MPI_COMM_WORLD are the PEs, and
 * all must be on one node and have libmpiaccel. Link with -lmpiaccel, or preload it.
 *
 * Names and meaning are those of OpenSHMEM 1.5, and of 1.0 for the old ones. shmem_init() may be
 * left out after MPI_Init(); without an MPI_Init() before, it calls it. As far as threads are
 * concerned these calls count as MPI calls.
 *
 * Beyond the standard: if PEs make different calls of the heap, or with different arguments, all of
 * them get an error and nothing is done. Each call sets malloc_error: 0, or what was wrong.
 */
#ifndef MPIACCEL_SHMEM_H
#define MPIACCEL_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- set-up and questions ---- */

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN  64
#define SHMEM_VENDOR_STRING "libmpiaccel"

enum { SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE };

void shmem_init(void);
int shmem_init_thread(int requested, int *provided);
void shmem_query_thread(int *provided);
void shmem_finalize(void);
void shmem_global_exit(int status);
void shmem_info_get_version(int *major, int *minor);
void shmem_info_get_name(char *name);

int shmem_my_pe(void);
int shmem_n_pes(void);
/* Where `pe` has what is at `address` here, for loads and stores; NULL: nowhere. */
void *shmem_ptr(const void *address, int pe);
int shmem_addr_accessible(const void *address, int pe);
int shmem_pe_accessible(int pe);

/* ---- the symmetric heap: collective, the same arguments on all PEs ---- */

enum {
    SHMEM_MALLOC_ATOMICS_REMOTE = 1,
    SHMEM_MALLOC_SIGNAL_REMOTE = 2,
};

void *shmem_malloc(size_t size);
void *shmem_malloc_with_hints(size_t size, long hints);
void *shmem_calloc(size_t count, size_t size);
void *shmem_align(size_t alignment, size_t size);
void *shmem_realloc(void *block, size_t size);
void shmem_free(void *block);

void *shmalloc(size_t size);
void *shmemalign(size_t alignment, size_t size);
void *shrealloc(void *block, size_t size);
void shfree(void *block);

/* Of the last of these calls. */
extern long malloc_error;
enum {
    MPIACCEL_MALLOC_OK,
    MPIACCEL_MALLOC_DIFFERENT,     /* not the same call with the same arguments on all PEs */
    MPIACCEL_MALLOC_NO_ROOM,       /* see SHMEM_SYMMETRIC_HEAP_SIZE */
    MPIACCEL_MALLOC_BAD_BLOCK,     /* not the start of a block that is allocated */
    MPIACCEL_MALLOC_BAD_ALIGNMENT, /* not a power of two, or less than a pointer's size */
    MPIACCEL_MALLOC_NOT_HERE,      /* there is no symmetric heap, as on several nodes */
};

/* ---- order ---- */

void shmem_barrier_all(void);
void shmem_sync_all(void);
void shmem_quiet(void);
void shmem_fence(void);

/* ---- put and get ---- */

void shmem_putmem(void *to, const void *from, size_t bytes, int pe);
void shmem_getmem(void *to, const void *from, size_t bytes, int pe);
void shmem_putmem_nbi(void *to, const void *from, size_t bytes, int pe);
void shmem_getmem_nbi(void *to, const void *from, size_t bytes, int pe);

/* X(name, type) */
#define MPIACCEL_SHMEM_RMA_TYPES(X)  \
    X(float, float)                  \
    X(double, double)                \
    X(longdouble, long double)       \
    X(char, char)                    \
    X(schar, signed char)            \
    X(short, short)                  \
    X(int, int)                      \
    X(long, long)                    \
    X(longlong, long long)           \
    X(uchar, unsigned char)          \
    X(ushort, unsigned short)        \
    X(uint, unsigned int)            \
    X(ulong, unsigned long)          \
    X(ulonglong, unsigned long long) \
    X(int8, int8_t)                  \
    X(int16, int16_t)                \
    X(int32, int32_t)                \
    X(int64, int64_t)                \
    X(uint8, uint8_t)                \
    X(uint16, uint16_t)              \
    X(uint32, uint32_t)              \
    X(uint64, uint64_t)              \
    X(size, size_t)                  \
    X(ptrdiff, ptrdiff_t)

/* p: store one element there; g: its value there; the strided ones count in elements. */
#define X(name, type)                                                              \
    void shmem_##name##_p(type *to, type value, int pe);                           \
    type shmem_##name##_g(const type *from, int pe);                               \
    void shmem_##name##_put(type *to, const type *from, size_t count, int pe);     \
    void shmem_##name##_get(type *to, const type *from, size_t count, int pe);     \
    void shmem_##name##_put_nbi(type *to, const type *from, size_t count, int pe); \
    void shmem_##name##_get_nbi(type *to, const type *from, size_t count, int pe); \
    void shmem_##name##_iput(type *to, const type *from, ptrdiff_t to_stride,      \
                             ptrdiff_t from_stride, size_t count, int pe);         \
    void shmem_##name##_iget(type *to, const type *from, ptrdiff_t to_stride,      \
                             ptrdiff_t from_stride, size_t count, int pe);
MPIACCEL_SHMEM_RMA_TYPES(X)
#undef X

/* Elements of so many bits. X(bits) */
#define MPIACCEL_SHMEM_SIZES(X) X(8) X(16) X(32) X(64) X(128)

#define X(bits)                                                                                   \
    void shmem_put##bits(void *to, const void *from, size_t count, int pe);                       \
    void shmem_get##bits(void *to, const void *from, size_t count, int pe);                       \
    void shmem_put##bits##_nbi(void *to, const void *from, size_t count, int pe);                 \
    void shmem_get##bits##_nbi(void *to, const void *from, size_t count, int pe);                 \
    void shmem_iput##bits(void *to, const void *from, ptrdiff_t to_stride, ptrdiff_t from_stride, \
                          size_t count, int pe);                                                  \
    void shmem_iget##bits(void *to, const void *from, ptrdiff_t to_stride, ptrdiff_t from_stride, \
                          size_t count, int pe);
MPIACCEL_SHMEM_SIZES(X)
#undef X

/* ---- atomics ---- */

#define MPIACCEL_SHMEM_BITWISE_TYPES(X) \
    X(uint, unsigned int)               \
    X(ulong, unsigned long)             \
    X(ulonglong, unsigned long long)    \
    X(int32, int32_t)                   \
    X(int64, int64_t)                   \
    X(uint32, uint32_t)                 \
    X(uint64, uint64_t)
#define MPIACCEL_SHMEM_SIGNED_TYPES(X) \
    X(int, int)                        \
    X(long, long)                      \
    X(longlong, long long)
#define MPIACCEL_SHMEM_REAL_TYPES(X) \
    X(float, float)                  \
    X(double, double)
#define MPIACCEL_SHMEM_ATOMIC_TYPES(X) \
    MPIACCEL_SHMEM_BITWISE_TYPES(X)    \
    MPIACCEL_SHMEM_SIGNED_TYPES(X)     \
    X(size, size_t)                    \
    X(ptrdiff, ptrdiff_t)

#define X(name, type)                                             \
    type shmem_##name##_atomic_fetch(const type *from, int pe);   \
    void shmem_##name##_atomic_set(type *to, type value, int pe); \
    type shmem_##name##_atomic_swap(type *to, type value, int pe);
MPIACCEL_SHMEM_ATOMIC_TYPES(X)
MPIACCEL_SHMEM_REAL_TYPES(X)
#undef X

#define X(name, type)                                                                      \
    type shmem_##name##_atomic_compare_swap(type *to, type condition, type value, int pe); \
    type shmem_##name##_atomic_fetch_inc(type *to, int pe);                                \
    void shmem_##name##_atomic_inc(type *to, int pe);                                      \
    type shmem_##name##_atomic_fetch_add(type *to, type value, int pe);                    \
    void shmem_##name##_atomic_add(type *to, type value, int pe);
MPIACCEL_SHMEM_ATOMIC_TYPES(X)
#undef X

#define X(name, type)                                                   \
    type shmem_##name##_atomic_fetch_and(type *to, type value, int pe); \
    void shmem_##name##_atomic_and(type *to, type value, int pe);       \
    type shmem_##name##_atomic_fetch_or(type *to, type value, int pe);  \
    void shmem_##name##_atomic_or(type *to, type value, int pe);        \
    type shmem_##name##_atomic_fetch_xor(type *to, type value, int pe); \
    void shmem_##name##_atomic_xor(type *to, type value, int pe);
MPIACCEL_SHMEM_BITWISE_TYPES(X)
#undef X

/* Their names before OpenSHMEM 1.4. */
#define X(name, type)                                      \
    type shmem_##name##_fetch(const type *from, int pe);   \
    void shmem_##name##_set(type *to, type value, int pe); \
    type shmem_##name##_swap(type *to, type value, int pe);
MPIACCEL_SHMEM_SIGNED_TYPES(X)
MPIACCEL_SHMEM_REAL_TYPES(X)
#undef X
#define X(name, type)                                                        \
    type shmem_##name##_cswap(type *to, type condition, type value, int pe); \
    type shmem_##name##_finc(type *to, int pe);                              \
    void shmem_##name##_inc(type *to, int pe);                               \
    type shmem_##name##_fadd(type *to, type value, int pe);                  \
    void shmem_##name##_add(type *to, type value, int pe);
MPIACCEL_SHMEM_SIGNED_TYPES(X)
#undef X

/* ---- waiting for what another PE stores here ---- */

enum { SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE };

#define MPIACCEL_SHMEM_WAIT_TYPES(X) \
    MPIACCEL_SHMEM_ATOMIC_TYPES(X)   \
    X(short, short)                  \
    X(ushort, unsigned short)

#define X(name, type)                                                    \
    void shmem_##name##_wait_until(type *here, int compare, type value); \
    int shmem_##name##_test(type *here, int compare, type value);
MPIACCEL_SHMEM_WAIT_TYPES(X)
#undef X

#ifdef __cplusplus
}
#endif
#endif
