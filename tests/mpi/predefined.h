/* The predefined datatypes, the kind of value each holds, and arithmetic on them that does not use
 * MPI. */
#ifndef PREDEFINED_H
#define PREDEFINED_H

#include "test.h"

#include <complex.h>
#include <float.h>

enum kind {
    SIGNED,       /* C integers: all operations on numbers, logical and bitwise */
    UNSIGNED,     /* the same */
    INTEGER,      /* Fortran and multi-language integers: no logical operations */
    REAL,         /* 16 bytes: IEEE quadruple */
    LONG_REAL,    /* long double */
    COMPLEX,      /* of REAL */
    LONG_COMPLEX, /* of long double */
    LOGICAL,
    BYTES, /* bitwise operations only */
    OPAQUE /* no operations */
};

struct type {
    const char *name;
    MPI_Datatype handle;
    enum kind kind;
    int size;
};

struct operation {
    const char *name;
    MPI_Op handle;
};

#define PREDEFINED_TYPES(X)                      \
    X(MPI_SIGNED_CHAR, SIGNED)                   \
    X(MPI_SHORT, SIGNED)                         \
    X(MPI_INT, SIGNED)                           \
    X(MPI_LONG, SIGNED)                          \
    X(MPI_LONG_LONG, SIGNED)                     \
    X(MPI_INT8_T, SIGNED)                        \
    X(MPI_INT16_T, SIGNED)                       \
    X(MPI_INT32_T, SIGNED)                       \
    X(MPI_INT64_T, SIGNED)                       \
    X(MPI_UNSIGNED_CHAR, UNSIGNED)               \
    X(MPI_UNSIGNED_SHORT, UNSIGNED)              \
    X(MPI_UNSIGNED, UNSIGNED)                    \
    X(MPI_UNSIGNED_LONG, UNSIGNED)               \
    X(MPI_UNSIGNED_LONG_LONG, UNSIGNED)          \
    X(MPI_UINT8_T, UNSIGNED)                     \
    X(MPI_UINT16_T, UNSIGNED)                    \
    X(MPI_UINT32_T, UNSIGNED)                    \
    X(MPI_UINT64_T, UNSIGNED)                    \
    X(MPI_AINT, INTEGER)                         \
    X(MPI_OFFSET, INTEGER)                       \
    X(MPI_COUNT, INTEGER)                        \
    X(MPI_INTEGER, INTEGER)                      \
    X(MPI_INTEGER1, INTEGER)                     \
    X(MPI_INTEGER2, INTEGER)                     \
    X(MPI_INTEGER4, INTEGER)                     \
    X(MPI_INTEGER8, INTEGER)                     \
    X(MPI_FLOAT, REAL)                           \
    X(MPI_DOUBLE, REAL)                          \
    X(MPI_REAL, REAL)                            \
    X(MPI_DOUBLE_PRECISION, REAL)                \
    X(MPI_REAL4, REAL)                           \
    X(MPI_REAL8, REAL)                           \
    X(MPI_REAL16, REAL)                          \
    X(MPI_LONG_DOUBLE, LONG_REAL)                \
    X(MPI_COMPLEX, COMPLEX)                      \
    X(MPI_DOUBLE_COMPLEX, COMPLEX)               \
    X(MPI_COMPLEX8, COMPLEX)                     \
    X(MPI_COMPLEX16, COMPLEX)                    \
    X(MPI_COMPLEX32, COMPLEX)                    \
    X(MPI_C_FLOAT_COMPLEX, COMPLEX)              \
    X(MPI_C_DOUBLE_COMPLEX, COMPLEX)             \
    X(MPI_C_LONG_DOUBLE_COMPLEX, LONG_COMPLEX)   \
    X(MPI_CXX_FLOAT_COMPLEX, COMPLEX)            \
    X(MPI_CXX_DOUBLE_COMPLEX, COMPLEX)           \
    X(MPI_CXX_LONG_DOUBLE_COMPLEX, LONG_COMPLEX) \
    X(MPI_LOGICAL, LOGICAL)                      \
    X(MPI_C_BOOL, LOGICAL)                       \
    X(MPI_CXX_BOOL, LOGICAL)                     \
    X(MPI_BYTE, BYTES)                           \
    X(MPI_CHAR, OPAQUE)                          \
    X(MPI_WCHAR, OPAQUE)                         \
    X(MPI_CHARACTER, OPAQUE)                     \
    X(MPI_PACKED, OPAQUE)

/* The predefined datatypes that this host has; the last entry has no name. */
static inline const struct type *predefined_types(void)
{
    static struct type types[] = {
#define X(handle, kind) {#handle, handle, kind, 0},
        PREDEFINED_TYPES(X)
#undef X
            {0},
    };
    struct type *end = types;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (struct type *t = types; t->name; t++) {
        bool there = t->handle != MPI_DATATYPE_NULL && !MPI_Type_size(t->handle, &t->size);
        if (there && t->size > 0)
            *end++ = *t;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    *end = (struct type){0};
    return types;
}

/* The operations that MPI defines for a kind (MPI-4.0, 6.9.2); the last entry has no name. */
static inline const struct operation *operations_for(enum kind kind)
{
#define NUMBERS              \
    {"MPI_SUM", MPI_SUM},    \
    {                        \
        "MPI_PROD", MPI_PROD \
    }
#define ORDERED                    \
    NUMBERS, {"MPI_MAX", MPI_MAX}, \
    {                              \
        "MPI_MIN", MPI_MIN         \
    }
#define LOGICALS                                  \
    {"MPI_LAND", MPI_LAND}, {"MPI_LOR", MPI_LOR}, \
    {                                             \
        "MPI_LXOR", MPI_LXOR                      \
    }
#define BITS                                      \
    {"MPI_BAND", MPI_BAND}, {"MPI_BOR", MPI_BOR}, \
    {                                             \
        "MPI_BXOR", MPI_BXOR                      \
    }
#define ALWAYS                                              \
    {"MPI_REPLACE", MPI_REPLACE}, {"MPI_NO_OP", MPI_NO_OP}, \
    {                                                       \
        0                                                   \
    }
    static struct operation all[10][16];
    if (!all[kind][0].name) {
        const struct operation integers[] = {ORDERED, LOGICALS, BITS, ALWAYS},
                               fortran[] = {ORDERED, BITS, ALWAYS}, reals[] = {ORDERED, ALWAYS},
                               complexes[] = {NUMBERS, ALWAYS}, logicals[] = {LOGICALS, ALWAYS},
                               bytes[] = {BITS, ALWAYS}, none[] = {ALWAYS};
#define TAKE(kind, list) memcpy(all[kind], list, sizeof list)
        TAKE(SIGNED, integers);
        TAKE(UNSIGNED, integers);
        TAKE(INTEGER, fortran);
        TAKE(REAL, reals);
        TAKE(LONG_REAL, reals);
        TAKE(COMPLEX, complexes);
        TAKE(LONG_COMPLEX, complexes);
        TAKE(LOGICAL, logicals);
        TAKE(BYTES, bytes);
        TAKE(OPAQUE, none);
#undef TAKE
    }
    return all[kind];
#undef NUMBERS
#undef ORDERED
#undef LOGICALS
#undef BITS
#undef ALWAYS
}

typedef float quad __attribute__((mode(TF))); /* arm64 has no __float128 */
typedef _Complex float quad_complex __attribute__((mode(TC)));

/* The number n as a value of the type. */
static inline void value_of(const struct type *t, int n, void *to)
{
    int64_t integer = n;
#define AS(type)                          \
    {                                     \
        type value = (type)n;             \
        memcpy(to, &value, sizeof value); \
        return;                           \
    }
    switch (t->kind) {
    case REAL:
        if (t->size == 4)
            AS(float)
        if (t->size == 8)
            AS(double)
        AS(quad)
    case LONG_REAL:
        AS(long double)
    case COMPLEX: /* with a different imaginary part */
#define AS_COMPLEX(type)                                   \
    {                                                      \
        type value = (type)n + _Complex_I * (type)(2 - n); \
        memcpy(to, &value, sizeof value);                  \
        return;                                            \
    }
        if (t->size == 8)
            AS_COMPLEX(float complex)
        if (t->size == 16)
            AS_COMPLEX(double complex)
        AS_COMPLEX(quad_complex)
    case LONG_COMPLEX:
        AS_COMPLEX(long double complex)
    case LOGICAL:
        integer = n & 1;
        break;
    default:
        break;
    }
    memset(to, n < 0 && t->kind != LOGICAL ? 0xff : 0, (size_t)t->size);
    memcpy(to, &integer, t->size < 8 ? (size_t)t->size : 8); /* little-endian */
#undef AS
#undef AS_COMPLEX
}

/* inout = inout op in, one element. */
static inline void combine(const struct type *t, MPI_Op op, void *inout, const void *in)
{
    if (op == MPI_NO_OP)
        return;
    if (op == MPI_REPLACE) {
        memcpy(inout, in, (size_t)t->size);
        return;
    }
#define LOADED(type) \
    type a, b;       \
    memcpy(&a, inout, sizeof a), memcpy(&b, in, sizeof b)
#define STORE memcpy(inout, &a, sizeof a)
#define REAL_CASE(type)                        \
    {                                          \
        LOADED(type);                          \
        a = op == MPI_SUM    ? a + b           \
            : op == MPI_PROD ? a * b           \
            : op == MPI_MAX  ? (a > b ? a : b) \
                             : (a < b ? a : b); \
        STORE;                                 \
        return;                                \
    }
#define COMPLEX_CASE(type)                 \
    {                                      \
        LOADED(type);                      \
        a = op == MPI_SUM ? a + b : a * b; \
        STORE;                             \
        return;                            \
    }
#define INTEGER_CASE(type)                                       \
    {                                                            \
        LOADED(type);                                            \
        a = (type)(op == MPI_SUM    ? (uint64_t)a + (uint64_t)b  \
                   : op == MPI_PROD ? (uint64_t)a * (uint64_t)b  \
                   : op == MPI_MAX  ? (uint64_t)(a > b ? a : b)  \
                   : op == MPI_MIN  ? (uint64_t)(a < b ? a : b)  \
                   : op == MPI_LAND ? (uint64_t)(a && b)         \
                   : op == MPI_LOR  ? (uint64_t)(a || b)         \
                   : op == MPI_LXOR ? (uint64_t)(!a != !b)       \
                   : op == MPI_BAND ? (uint64_t)a & (uint64_t)b  \
                   : op == MPI_BOR  ? (uint64_t)a | (uint64_t)b  \
                                    : (uint64_t)a ^ (uint64_t)b); \
        STORE;                                                   \
        return;                                                  \
    }
    bool is_signed = t->kind == SIGNED || t->kind == INTEGER;
    switch (t->kind) {
    case REAL:
        if (t->size == 4)
            REAL_CASE(float)
        if (t->size == 8)
            REAL_CASE(double)
        REAL_CASE(quad)
    case LONG_REAL:
        REAL_CASE(long double)
    case COMPLEX:
        if (t->size == 8)
            COMPLEX_CASE(float complex)
        if (t->size == 16)
            COMPLEX_CASE(double complex)
        COMPLEX_CASE(quad_complex)
    case LONG_COMPLEX:
        COMPLEX_CASE(long double complex)
    default:
        switch (is_signed ? -t->size : t->size) {
        case -1:
            INTEGER_CASE(int8_t)
        case -2:
            INTEGER_CASE(int16_t)
        case -4:
            INTEGER_CASE(int32_t)
        case -8:
            INTEGER_CASE(int64_t)
        case 1:
            INTEGER_CASE(uint8_t)
        case 2:
            INTEGER_CASE(uint16_t)
        case 4:
            INTEGER_CASE(uint32_t)
        default:
            INTEGER_CASE(uint64_t)
        }
    }
#undef LOADED
#undef STORE
#undef REAL_CASE
#undef COMPLEX_CASE
#undef INTEGER_CASE
}

/* On x86, a long double has bytes that are not part of its value. */
static inline bool equal(const struct type *t, const void *a, const void *b)
{
    size_t used = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);
    if (t->kind == LONG_REAL)
        return !memcmp(a, b, used);
    if (t->kind == LONG_COMPLEX)
        return !memcmp(a, b, used) && !memcmp((const char *)a + 16, (const char *)b + 16, used);
    return !memcmp(a, b, (size_t)t->size);
}

#endif
