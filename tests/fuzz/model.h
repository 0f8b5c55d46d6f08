/* The expected contents of every rank's memory: images of all memory, changed as the standard says,
 * one operation after the other, by loops over single elements.
 *
 * A byte may be unknown: a fetched value whose order relative to other operations is undefined, or
 * padding in a long double. Unknown bytes stay unknown when they are copied.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "program.h"

struct image {
    char *memory, *buffer;                 /* as in struct program */
    char *memory_unknown, *buffer_unknown; /* 1: unknown */
    char *before;                          /* of the memory at the beginning of the phase */
};

void images_open(const struct program *p, struct image images[]);
void images_close(const struct program *p, struct image images[]);

/* The stores of a rank into its own memory before a phase. */
void model_prepare(const struct program *p, const struct round *round, int phase, int rank,
                   struct image *image);

/* The stores of a rank into its buffers before the operation, and the operation. */
void model_fill(const struct program *p, const struct round *round, const struct op *op, int origin,
                struct image images[]);
void model_operate(const struct round *round, const struct op *op, int origin,
                   struct image images[]);
void model_scribble(const struct program *p, const struct round *round, const struct action *action,
                    struct image *image);

/* Iterates over the elements of a side. */
struct cursor {
    const struct pieces *pieces;
    long piece, element;
};
/* The offset of the next element, relative to the side's address; false at the end. */
bool cursor_next(struct cursor *c, long *at, int *basic);

#endif
