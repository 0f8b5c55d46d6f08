/* The predefined datatypes as the MPI standard defines them, and arithmetic on their elements. This
 * is the fuzzer's own idea of them; it shares nothing with the plugin or the host. */
#ifndef FUZZ_BASIC_H
#define FUZZ_BASIC_H

#include "common.h"

enum kind { SIGNED, UNSIGNED, REAL, COMPLEX, LOGICAL, BYTES, OPAQUE, PAIR };

/* A number: `size` bytes, of which the first `used` say something (10 of 16 in a long double). */
struct scalar {
    enum kind kind;
    int size, used;
};

struct basic {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    struct scalar value; /* of a complex number: one half */
    struct scalar index; /* of a pair */
    int index_at;
    int extent, align;
    bool present; /* this host has it */
    bool packed;  /* MPI_PACKED: moved only */
};

extern struct basic basics[];
extern int basic_count;

enum {
    OP_MAX,
    OP_MIN,
    OP_SUM,
    OP_PROD,
    OP_LAND,
    OP_BAND,
    OP_LOR,
    OP_BOR,
    OP_LXOR,
    OP_BXOR,
    OP_MAXLOC,
    OP_MINLOC,
    OP_REPLACE,
    OP_NO_OP,
    OP_COUNT
};
extern const char *const op_names[OP_COUNT];
MPI_Op op_handle(int op);

void basics_open(void);

/* The parts of an element that hold data, without holes; returns how many. */
struct part {
    int at, size;
};
int basic_parts(const struct basic *b, struct part parts[2]);
/* The same, and without the bytes of a number that say nothing. */
int basic_values(const struct basic *b, struct part parts[2]);

/* Does MPI define the operation for the datatype (MPI-4.0, 6.9.2; 12.3.4)? */
bool op_defined(const struct basic *b, int op);
bool can_compare_and_swap(const struct basic *b);

/* inout = inout op in, one element, at any address. */
void combine(const struct basic *b, int op, void *inout, const void *in);

/* What an element's value is for, so that arithmetic on it is exact whatever the order. */
enum purpose {
    ANY_VALUE,  /* ordered operations: no overflow, no NaN, no negative zero */
    ANY_ORDER,  /* operands of `op` that commute exactly and do not overflow */
    RAW_PATTERN /* it is only moved: any bits */
};
void fill(struct rng *r, const struct basic *b, enum purpose purpose, int op, void *element);

/* Could `seen` be fetched while the element goes from `before` to `after` by `op` in some order of
 * ANY_ORDER operands? */
bool is_between(const struct basic *b, int op, const void *before, const void *seen,
                const void *after);

#endif
