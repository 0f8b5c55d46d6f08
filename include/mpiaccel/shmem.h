/* OpenSHMEM's symmetric memory inside an MPI program. The PEs are the ranks of MPI_COMM_WORLD; all
 * of them must be on one node and use libmpiaccel. Link with -lmpiaccel, or preload the library.
 *
 * Names and semantics are those of OpenSHMEM 1.5, and of 1.0 for the deprecated names. After
 * MPI_Init() a call of shmem_init() is optional; otherwise shmem_init() initializes MPI, too. The
 * rules of MPI for threads apply to these calls as to MPI calls.
 *
 * Beyond the standard: if PEs make different calls of the symmetric heap, or pass different
 * arguments, the call fails on all PEs and changes nothing. All PEs must therefore make even calls
 * without effect, such as shmem_free(NULL). Hints are ignored. Each of these calls sets
 * malloc_error.
 *
 * Since C11, type-generic names such as shmem_p() select the function for the type of their
 * argument.
 */
#ifndef MPIACCEL_SHMEM_H
#define MPIACCEL_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- set-up and queries ---- */

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
/* The address of the memory of `pe` that corresponds to `address`, for loads and stores; NULL:
 * none. */
void *shmem_ptr(const void *address, int pe);
int shmem_addr_accessible(const void *address, int pe);
int shmem_pe_accessible(int pe);

/* ---- the symmetric heap: collective calls with the same arguments on all PEs ---- */

enum { SHMEM_MALLOC_ATOMICS_REMOTE = 1, SHMEM_MALLOC_SIGNAL_REMOTE = 2 };

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

/* Error of the last of these calls. The variable has another name than OpenSHMEM 1.0's: the
 * preloaded library would replace the variable of any program or library with that name. */
extern long mpiaccel_malloc_error;
#define malloc_error mpiaccel_malloc_error
enum {
    MPIACCEL_MALLOC_OK,
    MPIACCEL_MALLOC_DIFFERENT,     /* different calls or different arguments on the PEs */
    MPIACCEL_MALLOC_NO_ROOM,       /* see SHMEM_SYMMETRIC_HEAP_SIZE */
    MPIACCEL_MALLOC_BAD_BLOCK,     /* not the start of an allocated block */
    MPIACCEL_MALLOC_BAD_ALIGNMENT, /* not a power of two, or less than a pointer's size */
    MPIACCEL_MALLOC_NOT_HERE       /* no symmetric heap, for example on several nodes */
};

/* ---- ordering ---- */

void shmem_barrier_all(void);
void shmem_sync_all(void);
void shmem_quiet(void);
void shmem_fence(void);

/* ---- put and get ---- */

void shmem_putmem(void *to, const void *from, size_t bytes, int pe);
void shmem_getmem(void *to, const void *from, size_t bytes, int pe);
void shmem_putmem_nbi(void *to, const void *from, size_t bytes, int pe);
void shmem_getmem_nbi(void *to, const void *from, size_t bytes, int pe);

/* Lists of types: X(name, type) for each. In lists whose name ends in DISTINCT no two types are the
 * same, however the system defines int64_t, and X takes another argument. */
#define MPIACCEL_SHMEM_PLAIN_(name, type, X) X(name, type)
#define MPIACCEL_SHMEM_RMA_DISTINCT(X, more) \
    X(float, float, more)                    \
    X(double, double, more)                  \
    X(longdouble, long double, more)         \
    X(char, char, more)                      \
    X(schar, signed char, more)              \
    X(short, short, more)                    \
    X(int, int, more)                        \
    X(long, long, more)                      \
    X(longlong, long long, more)             \
    X(uchar, unsigned char, more)            \
    X(ushort, unsigned short, more)          \
    X(uint, unsigned int, more)              \
    X(ulong, unsigned long, more)            \
    X(ulonglong, unsigned long long, more)
#define MPIACCEL_SHMEM_RMA_TYPES(X)                       \
    MPIACCEL_SHMEM_RMA_DISTINCT(MPIACCEL_SHMEM_PLAIN_, X) \
    X(int8, int8_t)                                       \
    X(int16, int16_t)                                     \
    X(int32, int32_t)                                     \
    X(int64, int64_t)                                     \
    X(uint8, uint8_t)                                     \
    X(uint16, uint16_t)                                   \
    X(uint32, uint32_t)                                   \
    X(uint64, uint64_t)                                   \
    X(size, size_t)                                       \
    X(ptrdiff, ptrdiff_t)

/* p stores one element on a PE, g returns one. Strides of iput and iget count elements. */
#define MPIACCEL_SHMEM_EACH_(name, type)                                           \
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
MPIACCEL_SHMEM_RMA_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_

/* Elements of untyped data. X(bits) */
#define MPIACCEL_SHMEM_SIZES(X) X(8) X(16) X(32) X(64) X(128)

#define MPIACCEL_SHMEM_EACH_(bits)                                                                \
    void shmem_put##bits(void *to, const void *from, size_t count, int pe);                       \
    void shmem_get##bits(void *to, const void *from, size_t count, int pe);                       \
    void shmem_put##bits##_nbi(void *to, const void *from, size_t count, int pe);                 \
    void shmem_get##bits##_nbi(void *to, const void *from, size_t count, int pe);                 \
    void shmem_iput##bits(void *to, const void *from, ptrdiff_t to_stride, ptrdiff_t from_stride, \
                          size_t count, int pe);                                                  \
    void shmem_iget##bits(void *to, const void *from, ptrdiff_t to_stride, ptrdiff_t from_stride, \
                          size_t count, int pe);
MPIACCEL_SHMEM_SIZES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_

/* ---- atomics ---- */

#define MPIACCEL_SHMEM_UNSIGNED_DISTINCT(X, more) \
    X(uint, unsigned int, more)                   \
    X(ulong, unsigned long, more)                 \
    X(ulonglong, unsigned long long, more)
#define MPIACCEL_SHMEM_SIGNED_DISTINCT(X, more) \
    X(int, int, more)                           \
    X(long, long, more)                         \
    X(longlong, long long, more)
#define MPIACCEL_SHMEM_REAL_DISTINCT(X, more) \
    X(float, float, more)                     \
    X(double, double, more)
#define MPIACCEL_SHMEM_SHORT_DISTINCT(X, more) \
    X(short, short, more)                      \
    X(ushort, unsigned short, more)
#define MPIACCEL_SHMEM_BITWISE_DISTINCT(X, more) \
    MPIACCEL_SHMEM_UNSIGNED_DISTINCT(X, more)    \
    X(int32, int32_t, more)                      \
    X(int64, int64_t, more)
#define MPIACCEL_SHMEM_ATOMIC_DISTINCT(X, more) \
    MPIACCEL_SHMEM_UNSIGNED_DISTINCT(X, more)   \
    MPIACCEL_SHMEM_SIGNED_DISTINCT(X, more)

#define MPIACCEL_SHMEM_SIGNED_TYPES(X) MPIACCEL_SHMEM_SIGNED_DISTINCT(MPIACCEL_SHMEM_PLAIN_, X)
#define MPIACCEL_SHMEM_REAL_TYPES(X)   MPIACCEL_SHMEM_REAL_DISTINCT(MPIACCEL_SHMEM_PLAIN_, X)
#define MPIACCEL_SHMEM_BITWISE_TYPES(X)                       \
    MPIACCEL_SHMEM_BITWISE_DISTINCT(MPIACCEL_SHMEM_PLAIN_, X) \
    X(uint32, uint32_t)                                       \
    X(uint64, uint64_t)
#define MPIACCEL_SHMEM_ATOMIC_TYPES(X) \
    MPIACCEL_SHMEM_BITWISE_TYPES(X)    \
    MPIACCEL_SHMEM_SIGNED_TYPES(X)     \
    X(size, size_t)                    \
    X(ptrdiff, ptrdiff_t)

#define MPIACCEL_SHMEM_EACH_(name, type)                          \
    type shmem_##name##_atomic_fetch(const type *from, int pe);   \
    void shmem_##name##_atomic_set(type *to, type value, int pe); \
    type shmem_##name##_atomic_swap(type *to, type value, int pe);
MPIACCEL_SHMEM_ATOMIC_TYPES(MPIACCEL_SHMEM_EACH_)
MPIACCEL_SHMEM_REAL_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_

#define MPIACCEL_SHMEM_EACH_(name, type)                                                   \
    type shmem_##name##_atomic_compare_swap(type *to, type condition, type value, int pe); \
    type shmem_##name##_atomic_fetch_inc(type *to, int pe);                                \
    void shmem_##name##_atomic_inc(type *to, int pe);                                      \
    type shmem_##name##_atomic_fetch_add(type *to, type value, int pe);                    \
    void shmem_##name##_atomic_add(type *to, type value, int pe);
MPIACCEL_SHMEM_ATOMIC_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_

#define MPIACCEL_SHMEM_EACH_(name, type)                                \
    type shmem_##name##_atomic_fetch_and(type *to, type value, int pe); \
    void shmem_##name##_atomic_and(type *to, type value, int pe);       \
    type shmem_##name##_atomic_fetch_or(type *to, type value, int pe);  \
    void shmem_##name##_atomic_or(type *to, type value, int pe);        \
    type shmem_##name##_atomic_fetch_xor(type *to, type value, int pe); \
    void shmem_##name##_atomic_xor(type *to, type value, int pe);
MPIACCEL_SHMEM_BITWISE_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_

/* The names of the atomics before OpenSHMEM 1.4. */
#define MPIACCEL_SHMEM_EACH_(name, type)                   \
    type shmem_##name##_fetch(const type *from, int pe);   \
    void shmem_##name##_set(type *to, type value, int pe); \
    type shmem_##name##_swap(type *to, type value, int pe);
MPIACCEL_SHMEM_SIGNED_TYPES(MPIACCEL_SHMEM_EACH_)
MPIACCEL_SHMEM_REAL_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_
#define MPIACCEL_SHMEM_EACH_(name, type)                                     \
    type shmem_##name##_cswap(type *to, type condition, type value, int pe); \
    type shmem_##name##_finc(type *to, int pe);                              \
    void shmem_##name##_inc(type *to, int pe);                               \
    type shmem_##name##_fadd(type *to, type value, int pe);                  \
    void shmem_##name##_add(type *to, type value, int pe);
MPIACCEL_SHMEM_SIGNED_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_

/* ---- waiting for a store of another PE ---- */

enum { SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE };

#define MPIACCEL_SHMEM_WAIT_TYPES(X) \
    MPIACCEL_SHMEM_ATOMIC_TYPES(X)   \
    MPIACCEL_SHMEM_SHORT_DISTINCT(MPIACCEL_SHMEM_PLAIN_, X)

/* Calls on several variables consider those whose status is 0; all of them if `status` is NULL. The
 * any calls return an index, SIZE_MAX if there is none. The some calls return the number of indices
 * that they have written. */
#define MPIACCEL_SHMEM_SEVERAL_(name, end, type, operand)                                       \
    void shmem_##name##_wait_until_all##end(type *variables, size_t count, const int *status,   \
                                            int compare, operand);                              \
    size_t shmem_##name##_wait_until_any##end(type *variables, size_t count, const int *status, \
                                              int compare, operand);                            \
    size_t shmem_##name##_wait_until_some##end(type *variables, size_t count, size_t *indices,  \
                                               const int *status, int compare, operand);        \
    int shmem_##name##_test_all##end(type *variables, size_t count, const int *status,          \
                                     int compare, operand);                                     \
    size_t shmem_##name##_test_any##end(type *variables, size_t count, const int *status,       \
                                        int compare, operand);                                  \
    size_t shmem_##name##_test_some##end(type *variables, size_t count, size_t *indices,        \
                                         const int *status, int compare, operand);
#define MPIACCEL_SHMEM_EACH_(name, type)                                     \
    void shmem_##name##_wait_until(type *variable, int compare, type value); \
    int shmem_##name##_test(type *variable, int compare, type value);        \
    MPIACCEL_SHMEM_SEVERAL_(name, , type, type value)                        \
    /* each variable is compared with its own value */                       \
    MPIACCEL_SHMEM_SEVERAL_(name, _vector, type, const type *values)
MPIACCEL_SHMEM_WAIT_TYPES(MPIACCEL_SHMEM_EACH_)
#undef MPIACCEL_SHMEM_EACH_
#undef MPIACCEL_SHMEM_SEVERAL_

#ifdef __cplusplus
}
#endif

/* ---- type-generic names ---- */

#if !defined __cplusplus && defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L

#define MPIACCEL_SHMEM_CASE_(name, type, call) , type : shmem_##name##call
#define MPIACCEL_SHMEM_RMA_(call, at) \
    _Generic(*(at)MPIACCEL_SHMEM_RMA_DISTINCT(MPIACCEL_SHMEM_CASE_, call))
#define MPIACCEL_SHMEM_ATOMIC_(call, at) \
    _Generic(*(at)MPIACCEL_SHMEM_ATOMIC_DISTINCT(MPIACCEL_SHMEM_CASE_, call))
#define MPIACCEL_SHMEM_FETCH_(call, at)                                      \
    _Generic(*(at)MPIACCEL_SHMEM_ATOMIC_DISTINCT(MPIACCEL_SHMEM_CASE_, call) \
                 MPIACCEL_SHMEM_REAL_DISTINCT(MPIACCEL_SHMEM_CASE_, call))
#define MPIACCEL_SHMEM_BITWISE_(call, at) \
    _Generic(*(at)MPIACCEL_SHMEM_BITWISE_DISTINCT(MPIACCEL_SHMEM_CASE_, call))
#define MPIACCEL_SHMEM_WAIT_(call, at)                                       \
    _Generic(*(at)MPIACCEL_SHMEM_ATOMIC_DISTINCT(MPIACCEL_SHMEM_CASE_, call) \
                 MPIACCEL_SHMEM_SHORT_DISTINCT(MPIACCEL_SHMEM_CASE_, call))

#define shmem_p(to, ...)       MPIACCEL_SHMEM_RMA_(_p, to)(to, __VA_ARGS__)
#define shmem_g(from, ...)     MPIACCEL_SHMEM_RMA_(_g, from)(from, __VA_ARGS__)
#define shmem_put(to, ...)     MPIACCEL_SHMEM_RMA_(_put, to)(to, __VA_ARGS__)
#define shmem_get(to, ...)     MPIACCEL_SHMEM_RMA_(_get, to)(to, __VA_ARGS__)
#define shmem_iput(to, ...)    MPIACCEL_SHMEM_RMA_(_iput, to)(to, __VA_ARGS__)
#define shmem_iget(to, ...)    MPIACCEL_SHMEM_RMA_(_iget, to)(to, __VA_ARGS__)
#define shmem_put_nbi(to, ...) MPIACCEL_SHMEM_RMA_(_put_nbi, to)(to, __VA_ARGS__)
#define shmem_get_nbi(to, ...) MPIACCEL_SHMEM_RMA_(_get_nbi, to)(to, __VA_ARGS__)

#define shmem_atomic_fetch(from, ...) MPIACCEL_SHMEM_FETCH_(_atomic_fetch, from)(from, __VA_ARGS__)
#define shmem_atomic_set(to, ...)     MPIACCEL_SHMEM_FETCH_(_atomic_set, to)(to, __VA_ARGS__)
#define shmem_atomic_swap(to, ...)    MPIACCEL_SHMEM_FETCH_(_atomic_swap, to)(to, __VA_ARGS__)
#define shmem_atomic_compare_swap(to, ...) \
    MPIACCEL_SHMEM_ATOMIC_(_atomic_compare_swap, to)(to, __VA_ARGS__)
#define shmem_atomic_fetch_inc(to, ...) \
    MPIACCEL_SHMEM_ATOMIC_(_atomic_fetch_inc, to)(to, __VA_ARGS__)
#define shmem_atomic_inc(to, ...) MPIACCEL_SHMEM_ATOMIC_(_atomic_inc, to)(to, __VA_ARGS__)
#define shmem_atomic_fetch_add(to, ...) \
    MPIACCEL_SHMEM_ATOMIC_(_atomic_fetch_add, to)(to, __VA_ARGS__)
#define shmem_atomic_add(to, ...) MPIACCEL_SHMEM_ATOMIC_(_atomic_add, to)(to, __VA_ARGS__)
#define shmem_atomic_fetch_and(to, ...) \
    MPIACCEL_SHMEM_BITWISE_(_atomic_fetch_and, to)(to, __VA_ARGS__)
#define shmem_atomic_and(to, ...) MPIACCEL_SHMEM_BITWISE_(_atomic_and, to)(to, __VA_ARGS__)
#define shmem_atomic_fetch_or(to, ...) \
    MPIACCEL_SHMEM_BITWISE_(_atomic_fetch_or, to)(to, __VA_ARGS__)
#define shmem_atomic_or(to, ...) MPIACCEL_SHMEM_BITWISE_(_atomic_or, to)(to, __VA_ARGS__)
#define shmem_atomic_fetch_xor(to, ...) \
    MPIACCEL_SHMEM_BITWISE_(_atomic_fetch_xor, to)(to, __VA_ARGS__)
#define shmem_atomic_xor(to, ...) MPIACCEL_SHMEM_BITWISE_(_atomic_xor, to)(to, __VA_ARGS__)

#define shmem_wait_until(variable, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until, variable)(variable, __VA_ARGS__)
#define shmem_wait_until_all(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until_all, variables)(variables, __VA_ARGS__)
#define shmem_wait_until_all_vector(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until_all_vector, variables)(variables, __VA_ARGS__)
#define shmem_wait_until_any(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until_any, variables)(variables, __VA_ARGS__)
#define shmem_wait_until_any_vector(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until_any_vector, variables)(variables, __VA_ARGS__)
#define shmem_wait_until_some(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until_some, variables)(variables, __VA_ARGS__)
#define shmem_wait_until_some_vector(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_wait_until_some_vector, variables)(variables, __VA_ARGS__)
#define shmem_test(variable, ...) MPIACCEL_SHMEM_WAIT_(_test, variable)(variable, __VA_ARGS__)
#define shmem_test_all(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_test_all, variables)(variables, __VA_ARGS__)
#define shmem_test_all_vector(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_test_all_vector, variables)(variables, __VA_ARGS__)
#define shmem_test_any(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_test_any, variables)(variables, __VA_ARGS__)
#define shmem_test_any_vector(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_test_any_vector, variables)(variables, __VA_ARGS__)
#define shmem_test_some(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_test_some, variables)(variables, __VA_ARGS__)
#define shmem_test_some_vector(variables, ...) \
    MPIACCEL_SHMEM_WAIT_(_test_some_vector, variables)(variables, __VA_ARGS__)

#endif
#endif
