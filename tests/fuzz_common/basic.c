#include "basic.h"

#include <float.h>
#include <stdio.h>
#include <wchar.h>

typedef float float128 __attribute__((mode(TF))); /* arm64 has no __float128 */

#define USED(type)                                                               \
    (__builtin_types_compatible_p(type, long double) && LDBL_MANT_DIG == 64 ? 10 \
                                                                            : (int)sizeof(type))
#define SCALAR(kind, type)             \
    {                                  \
        kind, sizeof(type), USED(type) \
    }
/* With the size and the alignment of the C type. */
#define PLAIN(kind_, type_) \
    .kind = kind_, .value = SCALAR(kind_, type_), .extent = sizeof(type_), .align = _Alignof(type_)
#define CPLX(type_)                                                             \
    .kind = COMPLEX, .value = SCALAR(REAL, type_), .extent = 2 * sizeof(type_), \
    .align = _Alignof(type_)
#define TWO(value_kind, value_type, index_kind, index_type) \
    .kind = PAIR, .value = SCALAR(value_kind, value_type),  \
    .index = SCALAR(index_kind, index_type),                \
    .index_at = offsetof(                                   \
        struct {                                            \
            value_type v;                                   \
            index_type i;                                   \
        },                                                  \
        i),                                                 \
    .extent = sizeof(struct {                               \
        value_type v;                                       \
        index_type i;                                       \
    }),                                                     \
    .align = _Alignof(struct {                              \
        value_type v;                                       \
        index_type i;                                       \
    })

/* X(name, description). Seeds depend on the order. */
#define BASICS(X)                                                  \
    X(MPI_INT, PLAIN(SIGNED, int))                                 \
    X(MPI_DOUBLE, PLAIN(REAL, double))                             \
    X(MPI_LONG, PLAIN(SIGNED, long))                               \
    X(MPI_FLOAT, PLAIN(REAL, float))                               \
    X(MPI_SIGNED_CHAR, PLAIN(SIGNED, signed char))                 \
    X(MPI_UNSIGNED_CHAR, PLAIN(UNSIGNED, unsigned char))           \
    X(MPI_SHORT, PLAIN(SIGNED, short))                             \
    X(MPI_UNSIGNED_SHORT, PLAIN(UNSIGNED, unsigned short))         \
    X(MPI_UNSIGNED, PLAIN(UNSIGNED, unsigned))                     \
    X(MPI_UNSIGNED_LONG, PLAIN(UNSIGNED, unsigned long))           \
    X(MPI_LONG_LONG, PLAIN(SIGNED, long long))                     \
    X(MPI_UNSIGNED_LONG_LONG, PLAIN(UNSIGNED, unsigned long long)) \
    X(MPI_LONG_DOUBLE, PLAIN(REAL, long double))                   \
    X(MPI_INT8_T, PLAIN(SIGNED, int8_t))                           \
    X(MPI_INT16_T, PLAIN(SIGNED, int16_t))                         \
    X(MPI_INT32_T, PLAIN(SIGNED, int32_t))                         \
    X(MPI_INT64_T, PLAIN(SIGNED, int64_t))                         \
    X(MPI_UINT8_T, PLAIN(UNSIGNED, uint8_t))                       \
    X(MPI_UINT16_T, PLAIN(UNSIGNED, uint16_t))                     \
    X(MPI_UINT32_T, PLAIN(UNSIGNED, uint32_t))                     \
    X(MPI_UINT64_T, PLAIN(UNSIGNED, uint64_t))                     \
    X(MPI_AINT, PLAIN(SIGNED, MPI_Aint))                           \
    X(MPI_OFFSET, PLAIN(SIGNED, MPI_Offset))                       \
    X(MPI_COUNT, PLAIN(SIGNED, MPI_Count))                         \
    X(MPI_C_BOOL, PLAIN(LOGICAL, bool))                            \
    X(MPI_C_FLOAT_COMPLEX, CPLX(float))                            \
    X(MPI_C_DOUBLE_COMPLEX, CPLX(double))                          \
    X(MPI_C_LONG_DOUBLE_COMPLEX, CPLX(long double))                \
    X(MPI_CXX_BOOL, PLAIN(LOGICAL, bool))                          \
    X(MPI_CXX_FLOAT_COMPLEX, CPLX(float))                          \
    X(MPI_CXX_DOUBLE_COMPLEX, CPLX(double))                        \
    X(MPI_CXX_LONG_DOUBLE_COMPLEX, CPLX(long double))              \
    X(MPI_BYTE, PLAIN(BYTES, char))                                \
    X(MPI_CHAR, PLAIN(OPAQUE, char))                               \
    X(MPI_WCHAR, PLAIN(OPAQUE, wchar_t))                           \
    X(MPI_PACKED, PLAIN(OPAQUE, char), .packed = true)             \
    X(MPI_CHARACTER, PLAIN(OPAQUE, char))                          \
    X(MPI_LOGICAL, PLAIN(LOGICAL, int))                            \
    X(MPI_INTEGER, PLAIN(SIGNED, int))                             \
    X(MPI_INTEGER1, PLAIN(SIGNED, int8_t))                         \
    X(MPI_INTEGER2, PLAIN(SIGNED, int16_t))                        \
    X(MPI_INTEGER4, PLAIN(SIGNED, int32_t))                        \
    X(MPI_INTEGER8, PLAIN(SIGNED, int64_t))                        \
    X(MPI_REAL, PLAIN(REAL, float))                                \
    X(MPI_DOUBLE_PRECISION, PLAIN(REAL, double))                   \
    X(MPI_REAL4, PLAIN(REAL, float))                               \
    X(MPI_REAL8, PLAIN(REAL, double))                              \
    X(MPI_REAL16, PLAIN(REAL, float128))                           \
    X(MPI_COMPLEX, CPLX(float))                                    \
    X(MPI_DOUBLE_COMPLEX, CPLX(double))                            \
    X(MPI_COMPLEX8, CPLX(float))                                   \
    X(MPI_COMPLEX16, CPLX(double))                                 \
    X(MPI_COMPLEX32, CPLX(float128))                               \
    X(MPI_FLOAT_INT, TWO(REAL, float, SIGNED, int))                \
    X(MPI_DOUBLE_INT, TWO(REAL, double, SIGNED, int))              \
    X(MPI_LONG_INT, TWO(SIGNED, long, SIGNED, int))                \
    X(MPI_2INT, TWO(SIGNED, int, SIGNED, int))                     \
    X(MPI_SHORT_INT, TWO(SIGNED, short, SIGNED, int))              \
    X(MPI_LONG_DOUBLE_INT, TWO(REAL, long double, SIGNED, int))    \
    X(MPI_2INTEGER, TWO(SIGNED, int, SIGNED, int))                 \
    X(MPI_2REAL, TWO(REAL, float, REAL, float))                    \
    X(MPI_2DOUBLE_PRECISION, TWO(REAL, double, REAL, double))

struct basic basics[] = {
#define X(name_, ...) {.name = #name_, __VA_ARGS__},
    BASICS(X)
#undef X
    /* MPI_Type_create_f90_…: predefined too, but unnamed. */
    {.name = "f90_real(6,30)", PLAIN(REAL, float)},
    {.name = "f90_real(15,300)", PLAIN(REAL, double)},
    {.name = "f90_complex(6,30)", CPLX(float)},
    {.name = "f90_complex(15,300)", CPLX(double)},
    {.name = "f90_integer(4)", PLAIN(SIGNED, int16_t)},
    {.name = "f90_integer(9)", PLAIN(SIGNED, int32_t)},
    {.name = "f90_integer(18)", PLAIN(SIGNED, int64_t)},
};
int basic_count = sizeof basics / sizeof *basics;

const char *const op_names[OP_COUNT] = {"MAX",    "MIN",    "SUM",     "PROD", "LAND",
                                        "BAND",   "LOR",    "BOR",     "LXOR", "BXOR",
                                        "MAXLOC", "MINLOC", "REPLACE", "NO_OP"};

MPI_Op op_handle(int op)
{
    const MPI_Op handles[OP_COUNT] = {MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD, MPI_LAND,
                                      MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR, MPI_BXOR,
                                      MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    return handles[op];
}

/* MPICH 5.0 and Open MPI 5.0 alone move elements of quadruple precision in some derived datatypes
 * as long doubles, of which they copy 10 bytes. Some calls are left to the host, so such data
 * cannot be used at all. */
static bool host_cuts_quads(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major = 0;
    MPI_Get_library_version(version, &length);
    return (sscanf(version, "MPICH Version: %d.", &major) == 1 && major >= 5) ||
           (sscanf(version, "Open MPI v%d.", &major) == 1 && major == 5);
}

void basics_open(void)
{
    int i = 0;
#define X(name_, ...) basics[i++].type = name_;
    BASICS(X)
#undef X
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int error = MPI_Type_create_f90_real(6, 30, &basics[i].type) ||
                MPI_Type_create_f90_real(15, 300, &basics[i + 1].type) ||
                MPI_Type_create_f90_complex(6, 30, &basics[i + 2].type) ||
                MPI_Type_create_f90_complex(15, 300, &basics[i + 3].type) ||
                MPI_Type_create_f90_integer(4, &basics[i + 4].type) ||
                MPI_Type_create_f90_integer(9, &basics[i + 5].type) ||
                MPI_Type_create_f90_integer(18, &basics[i + 6].type);
    for (int f = i; error && f < basic_count; f++)
        basics[f].type = MPI_DATATYPE_NULL;
    for (struct basic *b = basics; b < basics + basic_count; b++) {
        MPI_Aint lb, extent;
        int size, data = b->kind == PAIR ? b->value.size + b->index.size : b->extent;
        b->present = b->type != MPI_DATATYPE_NULL && !MPI_Type_size(b->type, &size) &&
                     !MPI_Type_get_extent(b->type, &lb, &extent) && size == data && lb == 0 &&
                     extent == b->extent;
        if (b->type == MPI_REAL16 || b->type == MPI_COMPLEX32)
            b->present = b->present && !host_cuts_quads();
    }
}

int basic_parts(const struct basic *b, struct part parts[2])
{
    parts[0] = (struct part){0, b->kind == PAIR ? b->value.size : b->extent};
    parts[1] = (struct part){b->index_at, b->index.size};
    return b->kind == PAIR ? 2 : 1;
}

int basic_values(const struct basic *b, struct part parts[2])
{
    parts[0] = (struct part){0, b->value.used};
    parts[1] = b->kind == PAIR ? (struct part){b->index_at, b->index.used}
                               : (struct part){b->value.size, b->value.used};
    return b->kind == PAIR || b->kind == COMPLEX ? 2 : 1;
}

bool op_defined(const struct basic *b, int op)
{
    if (op == OP_REPLACE || op == OP_NO_OP)
        return !b->packed;
    bool location = op == OP_MAXLOC || op == OP_MINLOC;
    bool logical = op == OP_LAND || op == OP_LOR || op == OP_LXOR;
    bool bitwise = op == OP_BAND || op == OP_BOR || op == OP_BXOR;
    /* Neither Fortran nor multi-language integers. */
    bool c_integer = strncmp(b->name, "MPI_INTEGER", 11) && strncmp(b->name, "f90", 3) &&
                     b->type != MPI_AINT && b->type != MPI_OFFSET && b->type != MPI_COUNT;
    switch (b->kind) {
    case SIGNED:
    case UNSIGNED:
        return !location && (!logical || c_integer);
    case REAL:
        return op == OP_MAX || op == OP_MIN || op == OP_SUM || op == OP_PROD;
    case COMPLEX:
        return op == OP_SUM || op == OP_PROD;
    case LOGICAL:
        return logical;
    case BYTES:
        return bitwise;
    case PAIR:
        return location;
    default:
        return false;
    }
}

bool can_compare_and_swap(const struct basic *b)
{
    return b->kind == SIGNED || b->kind == UNSIGNED || b->kind == LOGICAL || b->kind == BYTES;
}

/* ---- arithmetic ---- */

static bool is_truth(int op)
{
    return op == OP_LAND || op == OP_LOR || op == OP_LXOR;
}

static uint64_t integer_op(int op, bool is_signed, uint64_t a, uint64_t b)
{
    bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    switch (op) {
    case OP_MAX:
        return less ? b : a;
    case OP_MIN:
        return less ? a : b;
    case OP_SUM:
        return a + b;
    case OP_PROD:
        return a * b;
    case OP_LAND:
        return a && b;
    case OP_LOR:
        return a || b;
    case OP_LXOR:
        return !a != !b;
    case OP_BAND:
        return a & b;
    case OP_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Little-endian machines only, like the hosts' platforms here. */
static uint64_t load_integer(const struct scalar *s, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)s->size);
    int unused = 64 - 8 * s->size;
    if (s->kind == SIGNED)
        return (uint64_t)((int64_t)(bits << unused) >> unused);
    return bits;
}

static bool is_integer(const struct scalar *s)
{
    return s->kind != REAL;
}

static void combine_integer(const struct scalar *s, int op, void *inout, const void *in)
{
    uint64_t result =
        integer_op(op, s->kind == SIGNED, load_integer(s, inout), load_integer(s, in));
    memcpy(inout, &result, (size_t)s->size);
}

/* The same text for each format of real numbers. */
#define REAL_OPS(name, type)                                                           \
    static void real_##name(int op, void *inout, const void *in)                       \
    {                                                                                  \
        type a, b;                                                                     \
        memcpy(&a, inout, sizeof a);                                                   \
        memcpy(&b, in, sizeof b);                                                      \
        a = op == OP_MAX   ? (b > a ? b : a)                                           \
            : op == OP_MIN ? (b < a ? b : a)                                           \
            : op == OP_SUM ? a + b                                                     \
                           : a * b;                                                    \
        memcpy(inout, &a, sizeof a);                                                   \
    }                                                                                  \
    static void complex_##name(int op, void *inout, const void *in)                    \
    {                                                                                  \
        type a[2], b[2];                                                               \
        memcpy(a, inout, sizeof a);                                                    \
        memcpy(b, in, sizeof b);                                                       \
        type sum[2] = {a[0] + b[0], a[1] + b[1]};                                      \
        type product[2] = {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};      \
        memcpy(inout, op == OP_SUM ? sum : product, sizeof a);                         \
    }                                                                                  \
    static int compare_##name(const void *x, const void *y)                            \
    {                                                                                  \
        type a, b;                                                                     \
        memcpy(&a, x, sizeof a);                                                       \
        memcpy(&b, y, sizeof b);                                                       \
        return (a > b) - (a < b);                                                      \
    }                                                                                  \
    static void set_##name(void *at, double value)                                     \
    {                                                                                  \
        type a = (type)value;                                                          \
        memcpy(at, &a, (size_t)USED(type)); /* the other bytes of `a` are undefined */ \
    }
REAL_OPS(float, float)
REAL_OPS(double, double)
REAL_OPS(long_double, long double)
REAL_OPS(float128, float128)

struct real_format {
    void (*combine)(int op, void *inout, const void *in);
    void (*combine_complex)(int op, void *inout, const void *in);
    int (*compare)(const void *a, const void *b);
    void (*set)(void *at, double value);
};

static const struct real_format *format_of(const struct scalar *s)
{
#define FORMAT(name)                                            \
    {                                                           \
        real_##name, complex_##name, compare_##name, set_##name \
    }
    static const struct real_format float_ = FORMAT(float), double_ = FORMAT(double),
                                    long_double = FORMAT(long_double), quad = FORMAT(float128);
    return s->size == 4 ? &float_ : s->size == 8 ? &double_ : s->used == 10 ? &long_double : &quad;
}

static int compare(const struct scalar *s, const void *x, const void *y)
{
    if (!is_integer(s))
        return format_of(s)->compare(x, y);
    uint64_t a = load_integer(s, x), b = load_integer(s, y);
    if (s->kind == SIGNED)
        return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    return (a > b) - (a < b);
}

static void combine_pair(const struct basic *b, int op, char *inout, const char *in)
{
    int order = compare(&b->value, in, inout);
    bool better = op == OP_MAXLOC ? order > 0 : order < 0;
    if (better || (order == 0 && compare(&b->index, in + b->index_at, inout + b->index_at) < 0)) {
        memcpy(inout, in, (size_t)b->value.size);
        memcpy(inout + b->index_at, in + b->index_at, (size_t)b->index.size);
    }
}

void combine(const struct basic *b, int op, void *inout, const void *in)
{
    struct part parts[2];
    if (op == OP_NO_OP)
        return;
    if (op == OP_REPLACE) {
        for (int p = basic_parts(b, parts); p-- > 0;)
            memcpy((char *)inout + parts[p].at, (const char *)in + parts[p].at,
                   (size_t)parts[p].size);
    } else if (b->kind == PAIR) {
        combine_pair(b, op, inout, in);
    } else if (b->kind == COMPLEX) {
        format_of(&b->value)->combine_complex(op, inout, in);
    } else if (is_integer(&b->value)) {
        combine_integer(&b->value, op, inout, in);
    } else {
        format_of(&b->value)->combine(op, inout, in);
    }
}

/* ---- values ---- */

static void set_scalar(const struct scalar *s, void *at, double value)
{
    memset(at, 0, (size_t)s->size);
    int64_t integer = (int64_t)value;
    if (is_integer(s))
        memcpy(at, &integer, (size_t)s->size);
    else
        format_of(s)->set(at, value);
}

static double pick(struct rng *r, const double *values, int n)
{
    return values[below(r, n)];
}

/* Numbers whose sums, products and extremes are exact in every format and order. */
static double real_value(struct rng *r, enum purpose purpose, int op)
{
    static const double factors[] = {1, 2, 0.5, 4, -1, -2, -0.5};
    static const double positive[] = {1, 2, 0.5, 3};
    if (op == OP_PROD)
        return purpose == ANY_ORDER ? pick(r, factors, 7) : pick(r, positive, 4);
    if (op == OP_SUM && purpose == ANY_ORDER)
        return (double)below(r, 9);
    return (double)between(r, -8, 8);
}

static void fill_integer(struct rng *r, const struct scalar *s, enum purpose purpose, int op,
                         void *at)
{
    uint64_t bits = rng_next(r);
    bool small = purpose == ANY_ORDER ? op == OP_SUM && s->size >= 4 : chance(r, 50);
    if (small)
        bits = (uint64_t)between(r, purpose == ANY_ORDER ? 0 : -5, 9);
    if (is_truth(op) && chance(r, 50))
        bits = (uint64_t)below(r, 2);
    memcpy(at, &bits, (size_t)s->size);
}

static void fill_scalar(struct rng *r, const struct scalar *s, enum purpose purpose, int op,
                        void *at)
{
    uint64_t bits = s->kind == LOGICAL ? (uint64_t)below(r, 2) : rng_next(r);
    if (s->kind == REAL)
        set_scalar(s, at, real_value(r, purpose, op));
    else if (s->kind == LOGICAL || s->kind == BYTES || s->kind == OPAQUE)
        memcpy(at, &bits, (size_t)s->size);
    else
        fill_integer(r, s, purpose, op, at);
}

void fill(struct rng *r, const struct basic *b, enum purpose purpose, int op, void *element)
{
    char *at = element;
    if (purpose == RAW_PATTERN) {
        struct part parts[2];
        for (int p = basic_parts(b, parts); p-- > 0;)
            for (int i = 0; i < parts[p].size; i++)
                at[parts[p].at + i] = (char)rng_next(r);
    } else if (b->kind == PAIR) {
        set_scalar(&b->value, at, (double)between(r, -3, 3));
        set_scalar(&b->index, at + b->index_at, (double)below(r, 5));
    } else if (b->kind == COMPLEX) {
        for (int half = 0; half < 2; half++)
            set_scalar(&b->value, at + half * b->value.size,
                       op == OP_PROD ? (chance(r, 50) ? 1 : -1) : real_value(r, purpose, op));
    } else {
        fill_scalar(r, &b->value, purpose, op, at);
    }
}

bool is_between(const struct basic *b, int op, const void *before, const void *seen,
                const void *after)
{
    const struct scalar *s = &b->value;
    bool number = b->kind == SIGNED || b->kind == UNSIGNED || b->kind == REAL;
    bool grows = op == OP_MAX || (op == OP_SUM && s->size >= 4);
    if (number && (grows || op == OP_MIN)) {
        int first = compare(s, before, seen), last = compare(s, seen, after);
        return op == OP_MIN ? first >= 0 && last >= 0 : first <= 0 && last <= 0;
    }
    if (op != OP_BOR && op != OP_BAND)
        return true;
    uint64_t first = load_integer(s, before), now = load_integer(s, seen),
             last = load_integer(s, after);
    return op == OP_BOR ? !(first & ~now) && !(now & ~last) : !(now & ~first) && !(last & ~now);
}
