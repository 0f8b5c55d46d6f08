/* What every rank's memory must hold: images of all of it, changed as the standard says, one
 * operation after the other, by loops over single elements.
 *
 * A byte may be unknown: what an operation has fetched among others that it was not ordered with,
 * or what says nothing in a long double. Unknown bytes stay unknown when they are moved. */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "program.h"

struct image {
    char *memory, *buffer;                 /* as in struct program */
    char *memory_unknown, *buffer_unknown; /* 1: unknown */
    char *before;                          /* of memory, when the phase began */
};

void images_open(const struct program *p, struct image images[]);
void images_close(const struct program *p, struct image images[]);

/* The stores of a rank into its own memory before a phase. */
void model_prepare(const struct program *p, const struct round *round, int phase, int rank,
                   struct image *image);

/* What a rank stores into its buffers before the operation, and the operation. */
void model_fill(const struct program *p, const struct round *round, const struct op *op, int origin,
                struct image images[]);
void model_operate(const struct round *round, const struct op *op, int origin,
                   struct image images[]);
void model_scribble(const struct program *p, const struct round *round, const struct action *action,
                    struct image *image);

/* Elements of a side in turn. */
struct cursor {
    const struct pieces *pieces;
    long piece, element;
};
/* The place of the next element, relative to the side's address; false: there is none. */
bool cursor_next(struct cursor *c, long *at, int *basic);

#endif
