/* A random program: all accesses of the ranks of a communicator to each other's windows, so that
 * every rank can compute all of them. The seed and the number of ranks determine it.
 *
 * A program consists of rounds. A round uses one kind of synchronisation on one window: fences,
 * post and start, or locks. It consists of phases; all operations are complete at the end of a
 * phase. In a phase every rank has a list of actions.
 *
 * A program must be correct, and its outcome must not depend on timing (MPI-4.0, 12.7). So each
 * rank's part of the window is divided into regions, and in each phase a region has a role: one
 * origin accesses it freely (OWNED), all ranks read it (READ), all accumulate into it with one
 * operation whose results commute (COMBINED), or all change it while they hold an exclusive lock
 * (LOCKED). An owner separates its own conflicting operations by flushes.
 *
 * Where a rank can access the window of another by loads and stores, it does some of its puts, gets
 * and increments in this way (by_loads() in act.c).
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include "layout.h"

/* The kind of programs of this seed: features are left out at random, so that bugs of the remaining
 * ones are not hidden. */
struct profile {
    bool aligned;  /* elements have their natural alignment */
    bool counters; /* accumulates of a few small elements only, which use native atomics */
    bool tame;     /* only what the hosts are known to do right: some windows are deferred */
    int derived;   /* per cent of the sides with a derived datatype */
    int depth;     /* of these */
    int requests;  /* per cent of the operations, in passive epochs */
    long most;     /* elements in an operation */
};

enum memory_kind {
    FROM_ALLOC_MEM,
    FROM_WIN_ALLOCATE,
    FROM_MALLOC,
    FROM_MALLOC_AT_ONE,
    ATTACHED /* to a dynamic window, for each round; of MPI_Alloc_mem or malloc */
};

struct window {
    long offset[RANKS_MAX], size[RANKS_MAX]; /* in the rank's memory */
    int unit[RANKS_MAX];
};

struct program {
    uint64_t seed;
    int size; /* ranks */
    struct profile profile;
    enum memory_kind memory;
    bool pieces; /* ATTACHED: in several ranges, some of which are missing; otherwise in one */
    int odd_one; /* the one of FROM_MALLOC_AT_ONE */
    bool buffer_from_mpi;
    long bytes[RANKS_MAX]; /* of each rank's memory: windows and the bytes around them */
    long buffer;           /* bytes of each rank's origin buffer */
    int windows;
    struct window window[2]; /* over the same memory */
    int rounds;
};

/* ---- operations ---- */

enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, INCREMENT };
extern const char *const call_names[];

struct side {
    const struct layout *layout; /* NULL: the call has no such side */
    long count;
    struct pieces pieces;
    long at;     /* of its address, relative to the start of the buffer or the window */
    bool bottom; /* passed as MPI_BOTTOM and absolute addresses */
};

struct op {
    int id, target; /* or MPI_PROC_NULL */
    enum call call;
    int op, basic; /* of the accumulates */
    bool request, large;
    bool matches; /* COMPARE_AND_SWAP compares with the current value */
    bool chained; /* it sends data that another operation has fetched or sent */
    bool reused;  /* this is that other operation */
    struct side origin, result, compare, remote;
    struct region *region; /* NULL: no data */
    enum purpose purpose;
    bool complete; /* at the origin, at this point of the list of actions */
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
    WAIT,    /* for all requests, by the call in `how` */
    SCRIBBLE /* overwrite the origin data of an operation */
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
    bool commuting; /* its values are operands of `op` that commute */
    int op;
    enum role role; /* in the current phase */
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
    bool lock_own; /* PASSIVE: a rank locks itself to read its own window */
    int regions, phases, ops;
    bool joined[PHASES_MAX]; /* FENCE: the fence that ended the last phase begins this one */
    struct region *region;
    struct phase *phase; /* the current one */
};

/* What all programs of a run have in common. tame: only what hosts do right. deep: with datatypes
 * that are nested deeper. dynamic: only dynamic windows. */
struct manner {
    bool tame, deep, dynamic;
};
void program_invent(struct program *p, uint64_t seed, int size, struct manner manner);
void round_invent(const struct program *p, int number, int first_op, struct round *round);

/* The next phase, with the actions of all ranks. */
void phase_invent(const struct program *p, struct round *round, int number);

/* Whether the operation is defined for the datatype, and enabled by the profile. */
bool op_usable(const struct profile *p, const struct basic *b, int op);

/* Append an operation to a rank's list, if a permitted one is found; operate.c. */
struct scene {
    const struct program *program;
    struct round *round;
    struct phase *phase;
    struct rng rng;
    int origin;
    bool passive;
    bool may[RANKS_MAX];             /* targets that are open */
    bool exclusive[RANKS_MAX];       /* … by this origin only */
    long used;                       /* of the origin's buffer */
    unsigned char *state[RANKS_MAX]; /* the owners' unordered accesses to each byte */
};
void operate(struct scene *s);

/* Append an action to the origin's list. */
struct action *act(struct scene *s, enum act what, int target);

/* The owner's operations on the target, or on all targets (-1), are complete there: forget them. */
void forget(struct scene *s, int target);

/* Append a flush of some kind. */
void flush(struct scene *s, enum act what, int target);

void op_print(const struct op *op, char *text, size_t room);

#endif
