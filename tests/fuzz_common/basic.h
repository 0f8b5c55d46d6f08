/* The predefined datatypes as the MPI standard defines them, and arithmetic on their elements.
 * Independent of the library and the host, so that it can check both. */
#ifndef FUZZ_BASIC_H
#define FUZZ_BASIC_H

#include "common.h"

enum kind { SIGNED, UNSIGNED, REAL, COMPLEX, LOGICAL, BYTES, OPAQUE, PAIR };

/* A number: `size` bytes, of which the first `used` hold the value (10 of 16 in a long double). */
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

/* The data parts of an element, without padding; returns how many. */
struct part {
    int at, size;
};
int basic_parts(const struct basic *b, struct part parts[2]);
/* The data parts of an element, without its padding and without that of a number; returns how
 * many. */
int basic_values(const struct basic *b, struct part parts[2]);

/* Whether MPI defines the operation for the datatype (MPI-4.0, 6.9.2; 12.3.4). */
bool op_defined(const struct basic *b, int op);
bool can_compare_and_swap(const struct basic *b);

/* inout = inout op in, one element, at any address. */
void combine(const struct basic *b, int op, void *inout, const void *in);

/* The use of an element's value, which restricts the values so that arithmetic is exact in every
 * order. */
enum purpose {
    ANY_VALUE,  /* ordered operations: no overflow, no NaN, no negative zero */
    ANY_ORDER,  /* operands of `op` that commute exactly and do not overflow */
    RAW_PATTERN /* only copied: any bits */
};
void fill(struct rng *r, const struct basic *b, enum purpose purpose, int op, void *element);

/* Whether `seen` can be fetched while the element goes from `before` to `after` by `op` in some
 * order of ANY_ORDER operands. */
bool is_between(const struct basic *b, int op, const void *before, const void *seen,
                const void *after);

#endif
