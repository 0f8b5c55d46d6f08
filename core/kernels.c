/* Compiled once per instruction set with -DISA=<instruction set> and -DKERNELS=<name of the table>;
 * see kernels_best(). */
#include "core/kernels.h"

#include "core/copy.h"

/* Elements are accessed through a packed type that may alias any other: the program chooses the
 * declared type and the displacement of its data. */
#define X(name, type)   \
    typedef type name;  \
    struct any_##name { \
        name v;         \
    } __attribute__((packed, may_alias));
PRIMS(X)
#undef X

/* Prefetch one line of `ahead` per line of elements. Eight prefetches at once would delay the loads
 * that the arithmetic is waiting for. */
#define COMBINE(op, name)                                                             \
    static void op##_##name(void *out, const void *left, const void *right, size_t n, \
                            const char *ahead)                                        \
    {                                                                                 \
        enum { PER_LINE = PREFETCH_LINE / sizeof(name) };                             \
        struct any_##name *z = out;                                                   \
        const struct any_##name *x = left, *y = right;                                \
        for (; UNLIKELY(ahead != NULL) && n >= PER_LINE; n -= PER_LINE) {             \
            prefetch_to_write(ahead);                                                 \
            combine_##op##_##name(z, x, y, PER_LINE);                                 \
            z += PER_LINE, x += PER_LINE, y += PER_LINE, ahead += PREFETCH_LINE;      \
        }                                                                             \
        combine_##op##_##name(z, x, y, n);                                            \
    }

/* ivdep: `z` may be identical to `x` or `y`, which is no dependence between iterations. unroll 1:
 * otherwise gcc unrolls the loop over one line before it vectorizes, and then finds no vectors. */
#define KERNEL(op, name, expression)                                                        \
    HOT_INLINE void combine_##op##_##name(struct any_##name *z, const struct any_##name *x, \
                                          const struct any_##name *y, size_t n)             \
    {                                                                                       \
        _Pragma("GCC ivdep") _Pragma("GCC unroll 1") for (size_t i = 0; i < n; i++)         \
        {                                                                                   \
            name a = x[i].v, b = y[i].v;                                                    \
            z[i].v = (expression);                                                          \
        }                                                                                   \
    }                                                                                       \
    COMBINE(op, name)

/* If the values are equal, the lower index wins (MPI-4.0, 6.9.4). Does not write to holes. */
#define KERNEL_LOC(op, name, better)                                                           \
    HOT_INLINE void combine_##op##_##name(struct any_##name *z, const struct any_##name *x,    \
                                          const struct any_##name *y, size_t n)                \
    {                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                       \
            name a = x[i].v, b = y[i].v;                                                       \
            bool take_b = b.value better a.value || (b.value == a.value && b.index < a.index); \
            z[i].v.value = take_b ? b.value : a.value;                                         \
            z[i].v.index = take_b ? b.index : a.index;                                         \
        }                                                                                      \
    }                                                                                          \
    COMBINE(op, name)

/* The operations of each class of types. OP and OP_LOC stand for what is made of each operation:
 * first its kernel, then its entry in the table. */
#define INTEGER_OPS(name, type)   \
    OP(MAX, name, b > a ? b : a)  \
    OP(MIN, name, b < a ? b : a)  \
    OP(SUM, name, (name)(a + b))  \
    OP(PROD, name, (name)(a * b)) \
    LOGICAL_OPS(name, type)       \
    BYTE_OPS(name, type)
#define REAL_OPS(name, type)     \
    OP(MAX, name, b > a ? b : a) \
    OP(MIN, name, b < a ? b : a) \
    COMPLEX_OPS(name, type)
#define COMPLEX_OPS(name, type) \
    OP(SUM, name, a + b)        \
    OP(PROD, name, a *b)
#define LOGICAL_OPS(name, type) \
    OP(LAND, name, (a) && (b))  \
    OP(LOR, name, a || b)       \
    OP(LXOR, name, !a != !b)
#define BYTE_OPS(name, type)      \
    OP(BAND, name, (name)(a & b)) \
    OP(BOR, name, (name)(a | b))  \
    OP(BXOR, name, (name)(a ^ b))
#define PAIR_OPS(name, type) \
    OP_LOC(MAXLOC, name, >)  \
    OP_LOC(MINLOC, name, <)
#define ALL_OPS                \
    PRIMS_INTEGER(INTEGER_OPS) \
    PRIMS_REAL(REAL_OPS)       \
    PRIMS_COMPLEX(COMPLEX_OPS) PRIMS_LOGICAL(LOGICAL_OPS) PRIMS_BYTE(BYTE_OPS) PRIMS_PAIR(PAIR_OPS)

#define OP     KERNEL
#define OP_LOC KERNEL_LOC
ALL_OPS
#undef OP
#undef OP_LOC

#define TEXT_(name)           #name
#define TEXT(name)            TEXT_(name)
#define OP(op, name, how)     .combine[OP_##op][PRIM_##name] = op##_##name,
#define OP_LOC(op, name, how) OP(op, name, how)
extern const struct kernels KERNELS;
const struct kernels KERNELS = {.name = TEXT(ISA), ALL_OPS};
