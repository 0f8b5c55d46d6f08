/* A random program: what all ranks of a communicator do to each other's windows, in full, so that
 * every rank can follow all of it. A seed and the number of ranks determine it.
 *
 * A program is a few rounds; a round is one way to synchronise on one window: fences, post and
 * start, or locks; of phases, between which all is complete. In a phase every rank has a list of
 * actions.
 *
 * It must be correct, and its outcome must not depend on who comes first (MPI-4.0, 12.7). So each
 * rank's part of the window is cut into regions, and in each phase a region has a role: one origin
 * does with it what it likes (OWNED), all look (READ), all combine into it with one operation whose
 * results commute (COMBINED), or all change it while they hold the lock exclusively (LOCKED). An
 * owner keeps its own conflicting operations apart by flushes.
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include "layout.h"

/* What kind of programs this seed brings: features are left out at random, so that the others show
 * what they do alone. */
struct profile {
    bool aligned;  /* elements lie where their type wants them */
    bool counters; /* accumulates of a few small elements only: the native ones of the plugin */
    bool tame;     /* only what the hosts are known to do right: some windows are theirs */
    int derived;   /* per cent of the sides that have a derived datatype */
    int depth;     /* of these */
    int requests;  /* per cent of the operations, in passive epochs */
    long most;     /* elements in an operation */
};

enum memory_kind { FROM_ALLOC_MEM, FROM_WIN_ALLOCATE, FROM_MALLOC, FROM_MALLOC_AT_ONE };

struct window {
    long offset[RANKS_MAX], size[RANKS_MAX]; /* in the rank's memory */
    int unit[RANKS_MAX];
};

struct program {
    uint64_t seed;
    int size; /* ranks */
    struct profile profile;
    enum memory_kind memory;
    int odd_one; /* the one of FROM_MALLOC_AT_ONE */
    bool buffer_from_mpi;
    long bytes[RANKS_MAX]; /* of each rank's memory: windows and what is around them */
    long buffer;           /* bytes of each rank's buffer for the origin's side */
    int windows;
    struct window window[2]; /* over the same memory */
    int rounds;
};

/* ---- operations ---- */

enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, INCREMENT };
extern const char *const call_names[];

struct side {
    const struct layout *layout; /* NULL: there is no such side */
    long count;
    struct pieces pieces;
    long at;     /* of its address, from the start of the buffer or the window */
    bool bottom; /* given as MPI_BOTTOM and absolute addresses */
};

struct op {
    int id, target; /* MPI_PROC_NULL too */
    enum call call;
    int op, basic; /* of the accumulates */
    bool request, large;
    bool matches; /* COMPARE_AND_SWAP finds what it compares with */
    bool chained; /* it sends what another one has fetched or sent */
    bool reused;  /* … of which this is the other one */
    struct side origin, result, compare, there;
    struct region *region; /* NULL: it moves nothing */
    enum purpose purpose;
    bool complete; /* at the origin, as far as the list of actions is written */
    bool ignored;  /* left out by --ops or --only */
};

enum act {
    OPERATE,
    LOCK,
    UNLOCK,
    LOCK_ALL,
    UNLOCK_ALL,
    FLUSH,
    FLUSH_ALL,
    FLUSH_LOCAL,
    FLUSH_LOCAL_ALL,
    SYNC,
    WAIT,    /* for all requests: `how` says by what call */
    SCRIBBLE /* overwrite what an operation has been sent from */
};

/* How the request of an operation is completed. */
enum { AT_LEISURE, WAITED_FOR, TESTED_FOR };

struct action {
    enum act act;
    int target, how, assertion; /* how: of OPERATE see above; of LOCK the kind; of WAIT the call */
    struct op *op;
};

struct actions {
    struct action *list;
    int count, room;
};

/* ---- rounds ---- */

enum role { OWNED, READ, COMBINED, LOCKED };

struct region {
    int rank;
    long at, bytes; /* in the window */
    int basic;      /* -1: any */
    long cells;     /* elements of `basic` */
    bool commuting; /* its values are operands of `op` for any order */
    int op;
    enum role role; /* in the present phase */
    int owner;
};

enum sync { FENCE, POST_START, PASSIVE };
enum { PHASES_MAX = 3 };

struct phase {
    struct actions actions[RANKS_MAX];
    bool refill[RANKS_MAX];                /* the target stores into its regions first */
    int open[RANKS_MAX], close[RANKS_MAX]; /* assertions of the fences */
    bool access[RANKS_MAX][RANKS_MAX];     /* POST_START: origin, target */
    bool no_check;
    int post[RANKS_MAX]; /* assertions */
    bool test[RANKS_MAX], post_nobody[RANKS_MAX];
};

struct round {
    int number;
    enum sync sync;
    const struct window *window;
    bool lock_own; /* PASSIVE: a rank locks itself to look at its own window */
    int regions, phases, ops;
    bool joined[PHASES_MAX]; /* FENCE: the fence that ended the last phase begins this one */
    struct region *region;
    struct phase *phase; /* the present one */
};

/* tame: only what hosts do right. */
void program_invent(struct program *p, uint64_t seed, int size, bool tame);
void round_invent(const struct program *p, int number, int first_op, struct round *round);

/* The next phase, with the actions of all ranks. */
void phase_invent(const struct program *p, struct round *round, int number);

/* Is the operation defined for the datatype, and does the profile have it? */
bool op_usable(const struct profile *p, const struct basic *b, int op);

/* One more operation for a rank's list, if one is found that is allowed; operate.c. */
struct scene {
    const struct program *program;
    struct round *round;
    struct phase *phase;
    struct rng rng;
    int origin;
    bool passive;
    bool may[RANKS_MAX];             /* targets that are open */
    bool exclusive[RANKS_MAX];       /* … that nobody else has open */
    long used;                       /* of the origin's buffer */
    unsigned char *state[RANKS_MAX]; /* what the owners have done to each byte, unordered */
};
void operate(struct scene *s);

/* Append an action to the origin's list. */
struct action *act(struct scene *s, enum act what, int target);

/* The owner's operations towards the target, or all (-1), are complete there: forget them. */
void forget(struct scene *s, int target);

/* Append a flush of some kind. */
void flush(struct scene *s, enum act what, int target);

void op_print(const struct op *op, char *text, size_t room);

#endif
