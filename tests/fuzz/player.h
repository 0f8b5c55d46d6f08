/* A rank in the middle of a program: what playing its rounds and making its calls share. */
#ifndef FUZZ_PLAYER_H
#define FUZZ_PLAYER_H

#include "play.h"

enum { REQUESTS_MAX = 64, TYPES_MAX = 512 };

struct player {
    const struct program *program;
    const struct options *options;
    struct round *round;
    struct image images[RANKS_MAX];
    MPI_Comm comm;
    int rank, phases_left;
    char *memory, *buffer;
    MPI_Win windows[2], win;
    MPI_Request requests[REQUESTS_MAX];
    int request_count;
    MPI_Datatype types[TYPES_MAX]; /* freed at the end of the phase */
    int type_count;
    bool seen_bad; /* reality and model have parted */
    uint64_t digest;
};

/* What this rank does in the phase, and the model of what the others do. */
void play_actions(struct player *pl);

void free_types(struct player *pl);

#endif
