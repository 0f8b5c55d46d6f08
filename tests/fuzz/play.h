/* Doing what a program says with MPI, beside the model, and comparing. */
#ifndef FUZZ_PLAY_H
#define FUZZ_PLAY_H

#include "model.h"

struct options {
    int epochs;       /* at most so many phases; -1: all */
    int ops;          /* only operations of lower number; -1: all */
    const char *only; /* only these: "3,7-9"; NULL: all */
    bool print, digest, tame;
    int turn, turns; /* groups that run side by side make their windows one after the other */
};

/* True: done (see `failures`). False: the host does not make such a window. */
bool play(uint64_t seed, MPI_Comm comm, const struct options *options);

/* A barrier that lets others run: the hosts' own keep the processor. */
void barrier(MPI_Comm comm);

/* Not a fixed program but a fight for the same elements; stress.c. */
void stress(uint64_t seed, MPI_Comm comm);

#endif
