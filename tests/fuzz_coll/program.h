/* A random program of collectives: communicators, and rounds of calls on them. The seed and the
 * number of ranks determine it. */
#ifndef FUZZ_COLL_PROGRAM_H
#define FUZZ_COLL_PROGRAM_H

#include "call.h"

/* A communicator as arguments of MPI_Comm_split: a negative colour takes no part. */
struct team {
    bool world, duplicate; /* MPI_COMM_WORLD itself; its duplicate */
    bool inter;            /* an intercommunicator of colours 0 and 1, and one of 2 and 3 */
    int color[RANKS_MAX], key[RANKS_MAX];
};

enum act {
    COLLECT,    /* a collective */
    MESSAGE,    /* point to point, to the next rank, while the round's collectives run */
    BACKGROUND, /* a nonblocking collective while the others run */
};

struct step {
    int id, team;
    enum act act;
    enum collective collective;
};

enum { TEAMS = 4, STEPS_MAX = 8, ROUNDS_MAX = 24 };

/* Its calls are prepared together, executed without pause, and then checked. */
struct round {
    int renewed; /* this communicator is created again first, with the groups in `team`; -1: none */
    struct team team;
    bool new_ops; /* the user-defined operations are commutative */
    int steps;
    struct step step[STEPS_MAX];
};

struct program {
    uint64_t seed;
    int size;
    struct profile profile;
    struct team team[TEAMS];
    int rounds;
    struct round round[ROUNDS_MAX];
};

struct options {
    const char *only; /* only these steps: "3,7-9"; NULL: all */
    bool print, tame, deep;
};
void program_invent(struct program *p, uint64_t seed, int size, const struct options *options);
void play(uint64_t seed, const struct options *options);

#endif
