/* A rank that executes a program: state shared by the rounds and the calls. */
#ifndef FUZZ_PLAYER_H
#define FUZZ_PLAYER_H

#include "play.h"

enum { REQUESTS_MAX = 64, TYPES_MAX = 512, PIECES_MAX = 6 };

struct player {
    const struct program *program;
    const struct options *options;
    struct round *round;
    struct image images[RANKS_MAX];
    MPI_Comm comm;
    int rank, phases_left;
    char *memory, *buffer;
    char *part[RANKS_MAX]; /* of a window that this rank can access by loads and stores, or NULL */
    MPI_Aint address[RANKS_MAX]; /* of the parts of a dynamic window; otherwise 0 */
    char *piece[PIECES_MAX];     /* the attached ranges of this rank */
    long piece_bytes[PIECES_MAX];
    int piece_count;
    MPI_Win windows[2], win;
    MPI_Request requests[REQUESTS_MAX];
    int request_count;
    MPI_Datatype types[TYPES_MAX]; /* freed at the end of the phase */
    int type_count;
    bool seen_bad; /* memory and model have diverged; report once */
    uint64_t digest;
};

/* Executes the actions of this rank in the phase, and the model of all other ranks' actions. */
void play_actions(struct player *pl);

void free_types(struct player *pl);

#endif
