/* Compares every reduction kernel of every instruction set with the definition of its operation,
 * one element at a time. */
#include "core/kernels.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

extern const struct kernels kernels_baseline;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2;
#endif

/* ---- operands: special values and others ---- */

static uint64_t any_bits(struct chance *c)
{
    static const uint64_t special[] = {
        0, 1, 2, UINT64_MAX, INT64_MAX, 0x8000000000000000, 0x7f7f7f7f7f7f7f7f, 0x8000800080008000};
    return below(c, 4) ? any(c) : special[below(c, 8)];
}

/* Any value for comparisons. For sums and products no values that give a NaN, since NaNs have many
 * representations. */
static double any_real(struct chance *c, enum op op)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, -NAN};
    if (below(c, 4) == 0)
        return special[below(c, op == OP_MAX || op == OP_MIN ? 8 : 4)];
    return ((double)below(c, 2000) - 1000) / 7;
}

/* ---- definitions: a = a op b ---- */

/* Integers of any width and sign. In 128 bits only products overflow, and those wrap. */
static __int128 reduce_integers(enum op op, __int128 a, __int128 b)
{
    switch (op) {
    case OP_MAX:
        return a > b ? a : b;
    case OP_MIN:
        return a < b ? a : b;
    case OP_SUM:
        return a + b;
    case OP_PROD:
        return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case OP_LAND:
        return a != 0 && b != 0;
    case OP_LOR:
        return a != 0 || b != 0;
    case OP_LXOR:
        return (a != 0) != (b != 0);
    case OP_BAND:
        return a & b;
    case OP_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

typedef void fill_fn(struct chance *c, enum op op, void *to);
typedef void define_fn(enum op op, void *at, const void *from);

#define FILL(name, type, statement)                                 \
    static void fill_##name(struct chance *c, enum op op, void *to) \
    {                                                               \
        type v;                                                     \
        (void)op;                                                   \
        statement;                                                  \
        memcpy(to, &v, sizeof v);                                   \
    }
#define DEFINE(name, type, expression)                                \
    static void define_##name(enum op op, void *at, const void *from) \
    {                                                                 \
        type a, b;                                                    \
        memcpy(&a, at, sizeof a);                                     \
        memcpy(&b, from, sizeof b);                                   \
        a = (type)(expression);                                       \
        memcpy(at, &a, sizeof a);                                     \
    }

#define X(name, type)                       \
    FILL(name, type, v = (type)any_bits(c)) \
    DEFINE(name, type, reduce_integers(op, a, b))
PRIMS_INTEGER(X)
PRIMS_LOGICAL(X)
PRIMS_BYTE(X)
#undef X

#define X(name, type)                           \
    FILL(name, type, v = (type)any_real(c, op)) \
    DEFINE(name, type,                          \
           op == OP_MAX   ? (a < b ? b : a)     \
           : op == OP_MIN ? (a > b ? b : a)     \
           : op == OP_SUM ? a + b               \
                          : a * b)
PRIMS_REAL(X)
#undef X

#define X(name, type)                                                            \
    FILL(name, type, __real__ v = any_real(c, op); __imag__ v = any_real(c, op)) \
    DEFINE(name, type, op == OP_SUM ? a + b : a * b)
PRIMS_COMPLEX(X)
#undef X

/* Assigns members, which leaves holes unchanged. Few different values, so that many are equal. */
#define X(name, type)                                                              \
    static void fill_##name(struct chance *c, enum op op, void *to)                \
    {                                                                              \
        type *pair = to;                                                           \
        (void)op;                                                                  \
        pair->value = (__typeof__(pair->value))below(c, 3) - 1;                    \
        pair->index = (__typeof__(pair->index))below(c, 5) - 2;                    \
    }                                                                              \
    static void define_##name(enum op op, void *at, const void *from)              \
    {                                                                              \
        type *a = at;                                                              \
        const type *b = from;                                                      \
        bool better = op == OP_MAXLOC ? b->value > a->value : b->value < a->value; \
        if (better || (a->value == b->value && b->index < a->index)) {             \
            a->value = b->value;                                                   \
            a->index = b->index;                                                   \
        }                                                                          \
    }
PRIMS_PAIR(X)
#undef X

/* ---- operations that MPI defines (MPI-4.0, 6.9.2 and 6.9.4) ---- */

#define BIT(op)    (1u << OP_##op)
#define ORDER      (BIT(MAX) | BIT(MIN))
#define ARITHMETIC (BIT(SUM) | BIT(PROD))
#define LOGIC      (BIT(LAND) | BIT(LOR) | BIT(LXOR))
#define BITWISE    (BIT(BAND) | BIT(BOR) | BIT(BXOR))
#define LOCATION   (BIT(MAXLOC) | BIT(MINLOC))

static const struct prim_facts {
    const char *name;
    size_t size;
    unsigned ops;
    fill_fn *fill;
    define_fn *define;
} facts[PRIM_COUNT] = {
#define FACTS(name, type, ops) \
    [PRIM_##name] = {#name, sizeof(type), ops, fill_##name, define_##name},
#define X(name, type) FACTS(name, type, ORDER | ARITHMETIC | LOGIC | BITWISE)
    PRIMS_INTEGER(X)
#undef X
#define X(name, type) FACTS(name, type, ORDER | ARITHMETIC)
        PRIMS_REAL(X)
#undef X
#define X(name, type) FACTS(name, type, ARITHMETIC)
            PRIMS_COMPLEX(X)
#undef X
#define X(name, type) FACTS(name, type, LOGIC)
                PRIMS_LOGICAL(X)
#undef X
#define X(name, type) FACTS(name, type, BITWISE)
                    PRIMS_BYTE(X)
#undef X
#define X(name, type) FACTS(name, type, LOCATION)
                        PRIMS_PAIR(X)
#undef X
};

static const char *const op_names[] = {
#define X(name) #name,
    OPS(X)
#undef X
};

/* ---- the comparison ---- */

enum { MOST = 67, EDGE = 64, ROOM = MOST * 32 + 2 * EDGE + 64 };

/* The six unused bytes of an x87 number may have any value. */
static bool is_unused_byte(enum prim prim, size_t byte)
{
    if (LDBL_MANT_DIG != 64)
        return false;
    switch (prim) {
    case PRIM_FLONG:
    case PRIM_CLONG:
        return byte % 16 >= 10;
    case PRIM_FLONG_INT:
        return byte >= 10 && byte < 16;
    default:
        return false;
    }
}

/* Bytes of a pair that are neither its value nor its index: kernels must not change them. */
static bool is_hole(enum prim prim, size_t byte)
{
    switch (prim) {
#define X(name, type)                                   \
    case PRIM_##name:                                   \
        return byte >= sizeof(((type *)NULL)->value) && \
               (byte < offsetof(type, index) ||         \
                byte >= offsetof(type, index) + sizeof(((type *)NULL)->index));
        PRIMS_PAIR(X)
#undef X
    default:
        return false;
    }
}

/* The location of the result. */
enum where { APART, OVER_LEFT, OVER_RIGHT, WHERES };

static void check(const struct kernels *table, const char *set, enum op op, enum prim prim,
                  size_t n, enum where where, size_t out_shift, size_t in_shift, struct chance *c)
{
    static _Alignas(64) unsigned char out[ROOM], left[ROOM], right[ROOM], a[ROOM], b[ROOM];
    const struct prim_facts *f = &facts[prim];
    size_t bytes = n * f->size, end = EDGE + out_shift + bytes + EDGE;
    memset(a, 0xa5, sizeof a);
    memset(b, 0x5a, sizeof b);
    for (size_t i = 0; i < n; i++) {
        f->fill(c, op, a + i * f->size);
        f->fill(c, op, b + i * f->size);
    }
    static const unsigned char untouched[WHERES] = {0x33, 0xa5, 0x5a};
    memset(out, 0x33, sizeof out);
    memcpy(left + EDGE + out_shift, a, bytes);
    memcpy(right + EDGE + in_shift, b, bytes);
    unsigned char *to = out + EDGE + out_shift;
    unsigned char *x = left + EDGE + out_shift, *y = right + EDGE + in_shift;
    if (where == OVER_LEFT || where == OVER_RIGHT)
        memcpy(to, where == OVER_LEFT ? a : b, bytes);
    const char *ahead = below(c, 2) ? (const char *)to : NULL;
    const unsigned char *l = where == OVER_LEFT ? to : x, *r = where == OVER_RIGHT ? to : y;
    combine_fn *kernel = table->combine[op][prim];
    if (bytes >= 32 && below(c, 2))
        kernel_combine_long(kernel, f->size, (char *)to, (const char *)l, (const char *)r, bytes,
                            ahead);
    else
        kernel(to, l, r, n, ahead);
    INSIST(!memcmp(x, a, bytes) && !memcmp(y, b, bytes), "%s %s %s wrote to its input", set,
           op_names[op], f->name);
    for (size_t i = 0; i < n; i++)
        f->define(op, a + i * f->size, b + i * f->size);
    for (size_t i = 0; i < end; i++) {
        size_t at = i - EDGE - out_shift;
        bool inside = at < bytes;
        unsigned char expected = inside ? a[at] : 0x33;
        if (inside && is_hole(prim, at % f->size))
            expected = untouched[where];
        INSIST(out[i] == expected || (inside && is_unused_byte(prim, at % f->size)),
               "%s %s %s: element %zu of %zu, byte %zu, at +%zu and +%zu", set, op_names[op],
               f->name, at / f->size, n, at % f->size, out_shift, in_shift);
    }
}

static void check_table(const struct kernels *table, const char *set)
{
    struct chance c = {1};
    unsigned shifts = effort(40);
    for (enum op op = 0; op < OP_COUNT; op++)
        for (enum prim prim = 0; prim < PRIM_COUNT; prim++) {
            bool defined = facts[prim].ops >> op & 1;
            INSIST(!!table->combine[op][prim] == defined, "%s %s of prim %d", set, op_names[op],
                   (int)prim);
            for (size_t n = 0; defined && n <= MOST; n++) {
                check(table, set, op, prim, n, OVER_LEFT, 0, 0, &c);
                for (unsigned i = 0; i < shifts; i++)
                    check(table, set, op, prim, n, i % WHERES, below(&c, 64), below(&c, 64), &c);
            }
        }
}

START_TEST(the_baseline_agrees_with_the_definitions)
{
    check_table(&kernels_baseline, "baseline");
}
END_TEST

START_TEST(vector_kernels_agree_with_the_definitions)
{
    if (kernels_best() != &kernels_baseline)
        check_table(kernels_best(), "best");
}
END_TEST

START_TEST(the_best_kernels_run_on_this_processor)
{
#if defined(__x86_64__)
    bool has = __builtin_cpu_supports("avx2");
    ck_assert(kernels_best() == (has ? &kernels_avx2 : &kernels_baseline));
#else
    ck_assert(kernels_best() == &kernels_baseline);
#endif
}
END_TEST

UNIT_MAIN(the_baseline_agrees_with_the_definitions, vector_kernels_agree_with_the_definitions,
          the_best_kernels_run_on_this_processor)
