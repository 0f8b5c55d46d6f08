/* Compiled once per instruction set with -DISA=<its name> and
 * -DKERNELS=<name of the table>; see kernels_best(). */
#include "core/kernels.h"

#include "core/copy.h"

/* Elements are accessed through a type that may lie anywhere and alias anything: the data is the
 * program's, of whatever type it declared, at whatever displacement it chose. */
#define X(name, type)   \
    typedef type name;  \
    struct any_##name { \
        name v;         \
    } __attribute__((packed, may_alias));
PRIMS(X)
#undef X

/* What is to be fetched is fetched line by line, each while as much is combined: eight at once, and
 * the reads that we wait for stand behind them. */
#define COMBINE(op, name)                                                             \
    static void op##_##name(void *out, const void *left, const void *right, size_t n, \
                            const char *ahead)                                        \
    {                                                                                 \
        enum { LINEFUL = PREFETCH_LINE / sizeof(name) };                              \
        struct any_##name *z = out;                                                   \
        const struct any_##name *x = left, *y = right;                                \
        for (; UNLIKELY(ahead != NULL) && n >= LINEFUL; n -= LINEFUL) {               \
            prefetch_to_write(ahead);                                                 \
            some_##op##_##name(z, x, y, LINEFUL);                                     \
            z += LINEFUL, x += LINEFUL, y += LINEFUL, ahead += PREFETCH_LINE;         \
        }                                                                             \
        some_##op##_##name(z, x, y, n);                                               \
    }

/* That an element of `z` may be one of `x` or `y` is no dependence between rounds. Without the
 * second pragma gcc unrolls a line's round before it looks for vectors, and finds none. */
#define KERNEL(op, name, expression)                                                     \
    HOT_INLINE void some_##op##_##name(struct any_##name *z, const struct any_##name *x, \
                                       const struct any_##name *y, size_t n)             \
    {                                                                                    \
        _Pragma("GCC ivdep") _Pragma("GCC unroll 1") for (size_t i = 0; i < n; i++)      \
        {                                                                                \
            name a = x[i].v, b = y[i].v;                                                 \
            z[i].v = (expression);                                                       \
        }                                                                                \
    }                                                                                    \
    COMBINE(op, name)

/* Where values are equal the lower index wins (MPI-4.0, 6.9.4). Holes are left alone. */
#define KERNEL_LOC(op, name, better)                                                          \
    HOT_INLINE void some_##op##_##name(struct any_##name *z, const struct any_##name *x,      \
                                       const struct any_##name *y, size_t n)                  \
    {                                                                                         \
        for (size_t i = 0; i < n; i++) {                                                      \
            name a = x[i].v, b = y[i].v;                                                      \
            bool other = b.value better a.value || (b.value == a.value && b.index < a.index); \
            z[i].v.value = other ? b.value : a.value;                                         \
            z[i].v.index = other ? b.index : a.index;                                         \
        }                                                                                     \
    }                                                                                         \
    COMBINE(op, name)

#define X(name, type)                 \
    KERNEL(MAX, name, b > a ? b : a)  \
    KERNEL(MIN, name, b < a ? b : a)  \
    KERNEL(SUM, name, (name)(a + b))  \
    KERNEL(PROD, name, (name)(a * b)) \
    KERNEL(LAND, name, a &&b)         \
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

#define X(name, type)         \
    KERNEL(LAND, name, a &&b) \
    KERNEL(LOR, name, a || b) \
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
