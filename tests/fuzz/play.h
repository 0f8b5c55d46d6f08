/* Executes a program with MPI and in the model, and compares the results. */
#ifndef FUZZ_PLAY_H
#define FUZZ_PLAY_H

#include "model.h"

struct options {
    int epochs;       /* at most so many phases; -1: all */
    int ops;          /* only operations with a lower number; -1: all */
    const char *only; /* only these: "3,7-9"; NULL: all */
    bool print, digest;
    struct manner manner;
    int turn, turns; /* groups that run concurrently create their windows one after the other */
};

/* Returns true when executed (see `failures`), false if the host cannot create such a window. */
bool play(uint64_t seed, MPI_Comm comm, const struct options *options);

/* A barrier that yields the processor, which the hosts' own do not. */
void barrier(MPI_Comm comm);

/* Ranks race for the same elements instead of following a program; stress.c. */
void stress(uint64_t seed, MPI_Comm comm);

#endif
