/* User-defined operations: associative, some of them noncommutative. */
#include "call.h"

#define NUMBERS(parts)                            \
    uint32_t a[parts], b[parts]; /* b = a op b */ \
    memcpy(a, in, sizeof a);                      \
    memcpy(b, inout, sizeof b);                   \
    (void)bytes

/* x -> b0 x + b1, then x -> a0 x + a1 */
static void affine(void *inout, const void *in, size_t bytes)
{
    NUMBERS(2);
    uint32_t c[2] = {a[0] * b[0], a[0] * b[1] + a[1]};
    memcpy(inout, c, sizeof c);
}

static void matrix(void *inout, const void *in, size_t bytes)
{
    NUMBERS(4);
    uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                     a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    memcpy(inout, c, sizeof c);
}

static void gauss(void *inout, const void *in, size_t bytes)
{
    NUMBERS(2);
    uint32_t c[2] = {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
    memcpy(inout, c, sizeof c);
}

static void circle(void *inout, const void *in, size_t bytes)
{
    NUMBERS(1);
    b[0] = a[0] + b[0] + a[0] * b[0];
    memcpy(inout, b, sizeof b);
}

static void left(void *inout, const void *in, size_t bytes)
{
    memcpy(inout, in, bytes);
}

static void right(void *inout, const void *in, size_t bytes)
{
    (void)inout, (void)in, (void)bytes;
}

/* The call that this rank is in. */
static struct {
    const struct user_op *op;
    MPI_Datatype type;
    long extent, bytes;
    int parts, at[UNIT_MAX];
} expected;

void user_op_expect(const struct call *c, MPI_Datatype type)
{
    struct pieces p = layout_pieces(c->layout, 1);
    expected.op = c->user;
    expected.type = type;
    expected.extent = layout_extent(c->layout);
    expected.bytes = basics[c->basic].extent;
    expected.parts = 0;
    for (long i = 0; i < p.count; i++)
        for (long e = 0; e < p.list[i].count; e++)
            expected.at[expected.parts++] = (int)(p.list[i].at + e * expected.bytes);
}

static void gather_parts(char *to, const char *from)
{
    for (int i = 0; i < expected.parts; i++)
        memcpy(to + i * expected.bytes, from + expected.at[i], (size_t)expected.bytes);
}

static void apply(const struct user_op *op, const char *in, char *inout, int n, MPI_Datatype type)
{
    char a[64], b[64];
    if (op != expected.op)
        fail("the function of %s is called, not of %s", op->name,
             expected.op ? expected.op->name : "none");
    if (type != expected.type)
        fail("the function of %s is given another datatype", op->name);
    for (int e = 0; e < n; e++, in += expected.extent, inout += expected.extent) {
        gather_parts(a, in);
        gather_parts(b, inout);
        op->combine(b, a, (size_t)(expected.parts * expected.bytes));
        for (int i = 0; i < expected.parts; i++)
            memcpy(inout + expected.at[i], b + i * expected.bytes, (size_t)expected.bytes);
    }
}

/* X(function, parts, commutes) */
#define USER_OPS(X)     \
    X(affine, 2, false) \
    X(matrix, 4, false) \
    X(gauss, 2, true)   \
    X(circle, 1, true)  \
    X(left, 0, false)   \
    X(right, 0, false)

enum {
#define X(name, parts, commutes) USER_##name,
    USER_OPS(X)
#undef X
};

/* One function for each operation, so that a call of the wrong one is detected. */
#define X(name, parts, commutes)                                                  \
    static void name##_for_mpi(void *in, void *inout, int *n, MPI_Datatype *type) \
    {                                                                             \
        apply(&user_ops[USER_##name], in, inout, *n, *type);                      \
    }
USER_OPS(X)
#undef X

struct user_op user_ops[] = {
#define X(name, parts, commutes) {#name, parts, commutes, name, name##_for_mpi, MPI_OP_NULL},
    USER_OPS(X)
#undef X
};
const int user_op_count = sizeof user_ops / sizeof *user_ops;

void user_ops_open(void)
{
    for (struct user_op *op = user_ops; op < user_ops + user_op_count; op++)
        DO(Op_create, op->function, op->commutes, &op->handle);
}

void user_ops_close(void)
{
    for (struct user_op *op = user_ops; op < user_ops + user_op_count; op++)
        DO(Op_free, &op->handle);
}
