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

/* Prefetches one line of `ahead` per line of elements. Eight prefetches at once would delay the
 * loads that the arithmetic is waiting for. */
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

#define X(name, type)                 \
    KERNEL(MAX, name, b > a ? b : a)  \
    KERNEL(MIN, name, b < a ? b : a)  \
    KERNEL(SUM, name, (name)(a + b))  \
    KERNEL(PROD, name, (name)(a * b)) \
    KERNEL(LAND, name, (a) && (b))    \
    KERNEL(LOR, name, a || b)         \
    KERNEL(LXOR, name, !a != !b)      \
    KERNEL(BAND, name, (name)(a & b)) \
    KERNEL(BOR, name, (name)(a | b))  \
    KERNEL(BXOR, name, (name)(a ^ b))
PRIMS_INTEGER(X)
#undef X

#define X(name, type)                \
    KERNEL(MAX, name, b > a ? b : a) \
    KERNEL(MIN, name, b < a ? b : a) \
    KERNEL(SUM, name, a + b)         \
    KERNEL(PROD, name, a *b)
PRIMS_REAL(X)
#undef X

#define X(name, type)        \
    KERNEL(SUM, name, a + b) \
    KERNEL(PROD, name, a *b)
PRIMS_COMPLEX(X)
#undef X

#define X(name, type)              \
    KERNEL(LAND, name, (a) && (b)) \
    KERNEL(LOR, name, a || b)      \
    KERNEL(LXOR, name, !a != !b)
PRIMS_LOGICAL(X)
#undef X

#define X(name, type)                 \
    KERNEL(BAND, name, (name)(a & b)) \
    KERNEL(BOR, name, (name)(a | b))  \
    KERNEL(BXOR, name, (name)(a ^ b))
PRIMS_BYTE(X)
#undef X

#define X(name, type)           \
    KERNEL_LOC(MAXLOC, name, >) \
    KERNEL_LOC(MINLOC, name, <)
PRIMS_PAIR(X)
#undef X

#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)
extern const struct kernels KERNELS;
#define ENTRY(op, name) .combine[OP_##op][PRIM_##name] = op##_##name,
const struct kernels KERNELS = {.name = TEXT(ISA),
#define X(name, type) \
    ENTRY(MAX, name)  \
    ENTRY(MIN, name)  \
    ENTRY(SUM, name)  \
    ENTRY(PROD, name) \
    ENTRY(LAND, name) \
    ENTRY(LOR, name)  \
    ENTRY(LXOR, name) \
    ENTRY(BAND, name) \
    ENTRY(BOR, name)  \
    ENTRY(BXOR, name)
                                PRIMS_INTEGER(X)
#undef X
#define X(name, type) ENTRY(MAX, name) ENTRY(MIN, name) ENTRY(SUM, name) ENTRY(PROD, name)
                                    PRIMS_REAL(X)
#undef X
#define X(name, type) ENTRY(SUM, name) ENTRY(PROD, name)
                                        PRIMS_COMPLEX(X)
#undef X
#define X(name, type) ENTRY(LAND, name) ENTRY(LOR, name) ENTRY(LXOR, name)
                                            PRIMS_LOGICAL(X)
#undef X
#define X(name, type) ENTRY(BAND, name) ENTRY(BOR, name) ENTRY(BXOR, name)
                                                PRIMS_BYTE(X)
#undef X
#define X(name, type) ENTRY(MAXLOC, name) ENTRY(MINLOC, name)
                                                    PRIMS_PAIR(X)
#undef X
};
