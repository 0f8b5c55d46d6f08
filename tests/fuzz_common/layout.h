/* Datatypes in the fuzzers' own representation: a tree of constructors. It is converted to an MPI
 * datatype, to text, and to the list of elements that the standard defines for it, by walking the
 * definition of each constructor (MPI-4.0, 5.1). */
#ifndef FUZZ_LAYOUT_H
#define FUZZ_LAYOUT_H

#include "basic.h"

enum constructor {
    PREDEFINED,
    CONTIGUOUS,
    VECTOR,
    HVECTOR,
    INDEXED,
    HINDEXED,
    INDEXED_BLOCK,
    HINDEXED_BLOCK,
    STRUCT,
    SUBARRAY,
    DARRAY,
    DUP,
    RESIZED
};

enum { DIMS_MAX = 3 };

/* With --deep, datatypes have so many more constructors inside each other. */
enum { DEEPER = 5 };

struct layout {
    enum constructor constructor;
    int basic;                  /* PREDEFINED */
    const struct layout *child; /* all but STRUCT; of HVECTOR with stride 0 too */
    const struct layout **children;
    long count, block, stride;
    long *lengths, *displs; /* displacements, in children or bytes */
    /* SUBARRAY, DARRAY */
    int dims, order;
    int sizes[DIMS_MAX], subsizes[DIMS_MAX], starts[DIMS_MAX];
    int processes, process, kinds[DIMS_MAX], arguments[DIMS_MAX], grid[DIMS_MAX];
    bool large; /* created by the _c constructor, if there is one */
    /* Derived from the fields above. */
    long low, high;           /* bounds: MPI's lb and ub */
    long true_low, true_high; /* of the data */
    bool marked;              /* its bounds were set by a resized, subarray or darray in it */
    int align;
};

static inline long layout_extent(const struct layout *l)
{
    return l->high - l->low;
}

/* The definition of the constructor: `copies` of a child from `at` on, block by block. */
typedef void block_fn(void *context, const struct layout *child, long at, long copies);
void layout_blocks(const struct layout *l, block_fn *block, void *context);

/* The unit of an operation's data: a few predefined datatypes. Both sides have `n` units, so their
 * signatures are equal whatever their layouts. */
enum { UNIT_MAX = 4 };
struct unit {
    int parts;
    int basic[UNIT_MAX];
};

/* A datatype of `n` units. All displacements are multiples of `grain` bytes; if that is the extent
 * of the only basic datatype in the unit, elements lie on a grid. */
const struct layout *layout_random(struct rng *r, long n, const struct unit *unit, int depth,
                                   long grain);
const struct layout *layout_basic(int basic);

/* `count` contiguous elements of a predefined datatype. */
struct piece {
    long at; /* bytes from the address of the buffer */
    long count;
    int basic;
};
struct pieces {
    struct piece *list;
    long count, room;
    long low, high; /* of all their bytes; 0, 0: there are none */
};

/* The elements of `count` copies, in the order of the type map. */
struct pieces layout_pieces(const struct layout *l, long count);

/* Whether no byte belongs to two elements. */
bool pieces_disjoint(const struct pieces *p);

/* The MPI datatype, committed, and its release. Aborts if the host's size or bounds differ from the
 * computed ones. */
MPI_Datatype layout_type(const struct layout *l);
void layout_type_free(const struct layout *l, MPI_Datatype *type);

/* The text is truncated to the buffer. */
void layout_print(const struct layout *l, char *text, size_t room);

#endif
