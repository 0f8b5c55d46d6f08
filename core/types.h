/* The predefined datatypes and operations in all modules that do not include <mpi.h>.
 *
 * A prim is a predefined datatype reduced to what arithmetic needs: MPI_LONG, MPI_INT64_T, MPI_AINT
 * and a Fortran INTEGER(8) are all PRIM_I64. PRIM_OTHER is a predefined datatype without reduction
 * kernels (MPI_CHAR, MPI_WCHAR, extensions of a host): its size is enough to move and to replace
 * it, and the host applies reductions to it.
 */
#ifndef MPIACCEL_TYPES_H
#define MPIACCEL_TYPES_H

#include "core/base.h"

/* Fortran's REAL(16) and COMPLEX(16), as GCC and Clang spell them on every processor. */
typedef float float128 __attribute__((mode(TF)));
typedef _Complex float complex128 __attribute__((mode(TC)));

struct pair_float_int {
    float value;
    int index;
};
struct pair_double_int {
    double value;
    int index;
};
struct pair_long_int {
    long value;
    int index;
};
struct pair_int_int {
    int value;
    int index;
};
struct pair_short_int {
    short value;
    int index;
};
struct pair_ldouble_int {
    long double value;
    int index;
};
struct pair_float_float {
    float value;
    float index;
};
struct pair_double_double {
    double value;
    double index;
};

/* X(name, C type). Each list is a class of types with the same operations; see kernels.c. */
#define PRIMS_INTEGER(X) \
    X(I8, int8_t)        \
    X(I16, int16_t)      \
    X(I32, int32_t)      \
    X(I64, int64_t)      \
    X(U8, uint8_t)       \
    X(U16, uint16_t)     \
    X(U32, uint32_t)     \
    X(U64, uint64_t)
#define PRIMS_REAL(X)     \
    X(F32, float)         \
    X(F64, double)        \
    X(FLONG, long double) \
    X(F128, float128)
#define PRIMS_COMPLEX(X)           \
    X(C32, float _Complex)         \
    X(C64, double _Complex)        \
    X(CLONG, long double _Complex) \
    X(C128, complex128)
#define PRIMS_LOGICAL(X) \
    X(L8, uint8_t)       \
    X(L16, uint16_t)     \
    X(L32, uint32_t)     \
    X(L64, uint64_t)
#define PRIMS_BYTE(X) X(BYTE, uint8_t)
#define PRIMS_PAIR(X)                     \
    X(FLOAT_INT, struct pair_float_int)   \
    X(DOUBLE_INT, struct pair_double_int) \
    X(LONG_INT, struct pair_long_int)     \
    X(INT_INT, struct pair_int_int)       \
    X(SHORT_INT, struct pair_short_int)   \
    X(FLONG_INT, struct pair_ldouble_int) \
    X(F32_F32, struct pair_float_float)   \
    X(F64_F64, struct pair_double_double)
#define PRIMS(X) \
    PRIMS_INTEGER(X) PRIMS_REAL(X) PRIMS_COMPLEX(X) PRIMS_LOGICAL(X) PRIMS_BYTE(X) PRIMS_PAIR(X)

enum prim {
#define X(name, type) PRIM_##name,
    PRIMS(X)
#undef X
        PRIM_OTHER, /* reduced by the host */
    PRIM_MIXED,     /* a derived datatype of several prims: moved, never reduced */
    PRIM_COUNT
};

#define OPS(X) \
    X(MAX)     \
    X(MIN)     \
    X(SUM)     \
    X(PROD) X(LAND) X(BAND) X(LOR) X(BOR) X(LXOR) X(BXOR) X(MAXLOC) X(MINLOC) X(REPLACE) X(NO_OP)

enum op {
#define X(name) OP_##name,
    OPS(X)
#undef X
        OP_COUNT /* also stands for an operation that is not predefined */
};

#endif
