/* The type-generic names (C11): each calls the function of its argument's type. Types of equal size
 * are distinguished by the type of a result or by a compiler warning. */
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#pragma GCC diagnostic error "-Wpointer-sign"
#include "shmem_test.h"

/* The header's lists cannot be used: a list cannot be expanded inside another, and the generic
 * names are made from them. So this file must have as many calls as the header. */
#define BITWISE(X)                   \
    X(uint, unsigned int)            \
    X(ulong, unsigned long)          \
    X(ulonglong, unsigned long long) \
    X(int32, int32_t)                \
    X(int64, int64_t)                \
    X(uint32, uint32_t)              \
    X(uint64, uint64_t)
#define ATOMIC(X)          \
    BITWISE(X)             \
    X(int, int)            \
    X(long, long)          \
    X(longlong, long long) \
    X(size, size_t)        \
    X(ptrdiff, ptrdiff_t)
#define REAL(X) X(float, float) X(double, double)
#define WAITED(X)   \
    ATOMIC(X)       \
    X(short, short) \
    X(ushort, unsigned short)
#define MOVED(X)               \
    WAITED(X)                  \
    REAL(X)                    \
    X(longdouble, long double) \
    X(char, char)              \
    X(schar, signed char)      \
    X(uchar, unsigned char)    \
    X(int8, int8_t)            \
    X(int16, int16_t)          \
    X(uint8, uint8_t)          \
    X(uint16, uint16_t)

#define ONE(name, type) +1
_Static_assert(0 BITWISE(ONE) == 0 MPIACCEL_SHMEM_BITWISE_TYPES(ONE), "all of the header's types");
_Static_assert(0 ATOMIC(ONE) == 0 MPIACCEL_SHMEM_ATOMIC_TYPES(ONE), "all of the header's types");
_Static_assert(0 REAL(ONE) == 0 MPIACCEL_SHMEM_REAL_TYPES(ONE), "all of the header's types");
_Static_assert(0 WAITED(ONE) == 0 MPIACCEL_SHMEM_WAIT_TYPES(ONE), "all of the header's types");
_Static_assert(0 MOVED(ONE) == 0 MPIACCEL_SHMEM_RMA_TYPES(ONE), "all of the header's types");

static int next_pe, last_pe;

#define IS(expression, type) _Generic((expression), type : true, default : false)

/* Distinct in all bytes of any type. */
#define VALUE(type, pe) ((type)(0x0123456789abcdefLL + 0x0101010101010101LL * (pe)))

#define MOVE(name, type)                                                                      \
    {                                                                                         \
        type *there = shmem_malloc(6 * sizeof *there), here[6] = {0}, mine[3];                \
        const type *seen = there;                                                             \
        for (int i = 0; i < 3; i++)                                                           \
            mine[i] = VALUE(type, test_rank + i);                                             \
        for (int i = 0; i < 6; i++)                                                           \
            there[i] = 7;                                                                     \
        shmem_barrier_all();                                                                  \
        shmem_p(there, mine[1], next_pe);                                                     \
        shmem_put(there + 1, mine, 2, next_pe);                                               \
        shmem_put_nbi(there + 3, mine + 1, 2, next_pe);                                       \
        shmem_barrier_all();                                                                  \
        CHECK(there[0] == VALUE(type, last_pe + 1) && there[1] == VALUE(type, last_pe) &&     \
                  there[2] == VALUE(type, last_pe + 1) && there[3] == there[2] &&             \
                  there[4] == VALUE(type, last_pe + 2) && there[5] == 7,                      \
              #name);                                                                         \
        CHECK(IS(shmem_g(there, 0), type) && shmem_g(seen, next_pe) == mine[1], #name);       \
        shmem_get(here, there, 2, next_pe);                                                   \
        shmem_get_nbi(here + 2, seen + 2, 3, next_pe);                                        \
        CHECK(here[0] == mine[1] && here[1] == mine[0] && here[4] == mine[2] && here[5] == 0, \
              #name);                                                                         \
        shmem_barrier_all();                                                                  \
        shmem_iput(there, mine, 2, 1, 3, next_pe);                                            \
        shmem_barrier_all();                                                                  \
        shmem_iget(here, seen, 1, 2, 3, next_pe);                                             \
        CHECK(there[4] == VALUE(type, last_pe + 2) && there[5] == 7, #name);                  \
        CHECK(here[0] == mine[0] && here[1] == mine[1] && here[2] == mine[2], #name);         \
        shmem_free(there);                                                                    \
    }

#define FETCH(name, type)                                                                         \
    {                                                                                             \
        type *word = shmem_calloc(1, sizeof *word);                                               \
        const type *seen = word;                                                                  \
        shmem_atomic_set(word, VALUE(type, test_rank), next_pe);                                  \
        CHECK(shmem_atomic_fetch(seen, next_pe) == VALUE(type, test_rank), #name);                \
        CHECK(IS(shmem_atomic_fetch(word, 0), type) && IS(shmem_atomic_swap(word, 1, me), type)); \
        shmem_barrier_all();                                                                      \
        CHECK(shmem_atomic_swap(word, 5, next_pe) == VALUE(type, test_rank), #name);              \
        shmem_barrier_all();                                                                      \
        CHECK(*word == 5, #name);                                                                 \
        shmem_free(word);                                                                         \
    }

/* All PEs add to the same word, with all calls. */
#define COUNT(name, type)                                                                          \
    {                                                                                              \
        type *word = shmem_calloc(2, sizeof *word), top = (type)((type)1 << (sizeof top * 8 - 9)); \
        shmem_atomic_inc(word, 0);                                                                 \
        shmem_atomic_add(word, top, 0);                                                            \
        CHECK(IS(shmem_atomic_fetch_inc(word, 0), type), #name);                                   \
        CHECK(shmem_atomic_fetch_inc(word, 0) >= top, #name);                                      \
        CHECK(IS(shmem_atomic_fetch_add(word, 3, 0), type), #name);                                \
        CHECK(shmem_atomic_fetch_add(word, 3, 0) >= top + 2, #name);                               \
        CHECK(IS(shmem_atomic_compare_swap(word + 1, 0, top, me), type), #name);                   \
        CHECK(shmem_atomic_compare_swap(word + 1, 0, top, me) == 0, #name);                        \
        CHECK(shmem_atomic_compare_swap(word + 1, 0, 9, me) == top && word[1] == top, #name);      \
        shmem_barrier_all();                                                                       \
        CHECK(shmem_g(word, 0) == (type)((top + 5) * test_size), #name);                           \
        shmem_barrier_all();                                                                       \
        shmem_free(word);                                                                          \
    }

#define BITS(name, type)                                                     \
    {                                                                        \
        type *word = shmem_calloc(1, sizeof *word), high = (type) ~(type)0;  \
        CHECK(IS(shmem_atomic_fetch_or(word, 0, me), type) &&                \
              IS(shmem_atomic_fetch_and(word, 0, me), type) &&               \
              IS(shmem_atomic_fetch_xor(word, 0, me), type));                \
        shmem_atomic_or(word, high, me);                                     \
        CHECK(*word == high && shmem_atomic_fetch_and(word, 6, me) == high); \
        shmem_atomic_xor(word, 3, me);                                       \
        CHECK(*word == 5 && shmem_atomic_fetch_or(word, 8, me) == 5);        \
        shmem_atomic_and(word, 12, me);                                      \
        CHECK(*word == 12 && shmem_atomic_fetch_xor(word, 4, me) == 12);     \
        CHECK(*word == 8, #name);                                            \
        shmem_barrier_all();                                                 \
        shmem_free(word);                                                    \
    }

#define WAIT(name, type)                                                                      \
    {                                                                                         \
        type *word = shmem_calloc(3, sizeof *word),                                           \
             value = (type)((type)1 << (sizeof value * 8 - 2));                               \
        const type values[3] = {value, value, 0};                                             \
        size_t index[3];                                                                      \
        CHECK(!shmem_test(word, SHMEM_CMP_EQ, value) &&                                       \
              !shmem_test_all(word, 3, NULL, SHMEM_CMP_EQ, value) &&                          \
              shmem_test_any(word, 3, NULL, SHMEM_CMP_EQ, value) == SIZE_MAX &&               \
              shmem_test_some(word, 3, index, NULL, SHMEM_CMP_EQ, value) == 0);               \
        CHECK(!shmem_test_all_vector(word, 3, NULL, SHMEM_CMP_EQ, values) &&                  \
              shmem_test_any_vector(word, 3, NULL, SHMEM_CMP_EQ, values) == 2 &&              \
              shmem_test_some_vector(word, 3, index, NULL, SHMEM_CMP_EQ, values) == 1);       \
        shmem_barrier_all();                                                                  \
        shmem_p(word, value, next_pe);                                                        \
        shmem_p(word + 1, value, next_pe);                                                    \
        shmem_wait_until(word, SHMEM_CMP_EQ, value);                                          \
        shmem_wait_until_all(word, 2, NULL, SHMEM_CMP_EQ, value);                             \
        shmem_wait_until_all_vector(word, 3, NULL, SHMEM_CMP_EQ, values);                     \
        CHECK(shmem_wait_until_any(word, 3, NULL, SHMEM_CMP_NE, value) == 2);                 \
        CHECK(shmem_wait_until_any_vector(word + 1, 2, NULL, SHMEM_CMP_NE, values) == 1);     \
        CHECK(shmem_wait_until_some(word, 3, index, NULL, SHMEM_CMP_EQ, value) == 2);         \
        CHECK(shmem_wait_until_some_vector(word, 3, index, NULL, SHMEM_CMP_EQ, values) == 3); \
        CHECK(shmem_test(word, SHMEM_CMP_EQ, value), #name);                                  \
        shmem_free(word);                                                                     \
    }

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    shmem_init();
    int me = test_rank;
    next_pe = test_next();
    last_pe = test_previous();
    MOVED(MOVE)
    ATOMIC(FETCH)
    REAL(FETCH)
    ATOMIC(COUNT)
    BITWISE(BITS)
    WAITED(WAIT)
    shmem_finalize();
    return test_end();
}
