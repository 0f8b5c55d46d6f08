/* A collective call as data: what one rank of a communicator hands to MPI, and what it must find
 * afterwards.
 *
 * All ranks of the communicator draw what they must agree on from the same random numbers: the
 * collective, root, operation, what type of elements, how many from whom to whom. Layouts, places
 * and kinds of memory are each rank's own affair. What a rank sends to another is a stream of
 * random numbers of its own, so every rank can compute what it has to receive.
 */
#ifndef FUZZ_CALL_H
#define FUZZ_CALL_H

#include "layout.h"

/* ---- the collectives ---- */

enum collective {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    COLLECTIVES
};

/* What a rank gives on one side: nothing, one message, or one for each rank: with a count and a
 * type for all, a count and a displacement for each, a type for each too, or one behind the other.
 */
enum shape { NOTHING, ONE, ALIKE, COUNTED, TYPED, JOINED };

/* How many units go from one rank to another depends on … */
enum spread { NEITHER, SENDER, RECEIVER, BOTH };

/* Who may say MPI_IN_PLACE. */
enum in_place { NOBODY, THE_ROOT, EVERYBODY };

/* Whose messages meet in one that is received. */
enum meeting { FROM_ONE, FROM_ROOT, FROM_ALL, UP_TO_ME, BEFORE_ME };

struct call;
struct args;
struct form {
    const char *name;
    enum shape send[2], receive[2]; /* at the root (or everywhere), elsewhere */
    bool rooted, reduces;
    enum spread spread;
    enum in_place in_place;
    enum meeting meeting;
    int (*execute)(const struct call *c, struct args *send, struct args *receive, MPI_Comm comm);
};
extern const struct form forms[COLLECTIVES];

/* ---- one call at one rank ---- */

struct block {
    const struct layout *layout;
    long count;
    long place, at; /* as MPI is told, in extents or bytes; in bytes */
    struct pieces pieces;
};

struct side {
    enum shape shape; /* NOTHING: what MPI is given here must not matter to it */
    int blocks;
    struct block block[RANKS_MAX];
    long low, high; /* of all bytes, from the address */
    long align;
    /* Set by whoever plays. */
    char *memory, *image; /* the bytes around it, and what they must be */
    long bytes;
    char *at;
    bool from_mpi, own;
};

struct user_op;
struct call {
    uint64_t seed;
    int id, root;
    int rank;           /* ours; between two groups ranks count through both */
    int first, size;    /* the ranks that we exchange with: between groups the other one */
    int own_first, own; /* our group */
    bool inter;
    enum collective collective;
    const struct form *form;
    bool asks_in_place, in_place; /* whoever may, does; it is done here */
    bool large;                   /* by the call with large counts, where there is one */
    struct unit unit;
    int basic, op; /* reductions; op OP_COUNT: by `user` */
    const struct user_op *user;
    const struct layout *layout; /* of a reduction's elements */
    long units, step;            /* of a message; counts are multiples of step */
    long most_derived;           /* bytes of a message that is not laid out plainly */
    struct side send, receive;
};

/* What kind of programs this seed brings: features are left out at random, so that the others show
 * what they do alone. */
struct profile {
    bool tame;    /* only what the hosts are known to do right */
    bool warm;    /* a few barriers on a new communicator: who sets things up late has them then;
                   * else programs are tame, as the first calls may be the host's */
    bool aligned; /* elements lie where their type wants them, also when they are only moved */
    int derived;  /* per cent of the types */
    int depth;    /* of these */
    int in_place; /* per cent of the calls, where it is allowed */
    int from_mpi; /* per cent of the buffers: MPI_Alloc_mem */
    int user_ops; /* per cent of the reductions */
    int dawdle;   /* per cent of the calls that a rank is late for */
    int large;    /* per cent of the calls, where there are such */
    long most;    /* bytes of a buffer */
};

/* Known bugs of the host that this was built for: host.c. */
bool host_is_wrong(const struct call *c);
/* … in a way that ends the program. */
bool host_corrupts(const struct call *c);
/* … and how many bytes it moves rightly when their types are derived. */
long host_most_derived(const struct call *c);

void call_invent(struct call *c, const struct profile *p);
void call_print(const struct call *c, char *text, size_t room);

/* The root as MPI wants it named. */
int root_argument(const struct call *c);

/* The rank that block i of a side is from, or for. */
static inline int rank_of_block(const struct call *c, enum shape shape, int i)
{
    return i + (shape == JOINED ? c->own_first : c->first);
}

/* Units that rank `from` sends to rank `to`. */
long units(const struct call *c, int from, int to);

/* Bytes of so many units as the model holds them: element by element, with the extents of each. */
long packed_bytes(const struct call *c, long n);

/* ---- what it moves: model.c ---- */

/* Write this rank's messages into the images of its sides. */
void model_input(struct call *c);
/* Write what it must receive into the image of the side. */
void model_result(struct call *c);
/* Compare sides with their images. */
void judge(struct call *c, struct side *side, const char *name);

/* ---- doing it: execute.c ---- */

/* A side as MPI takes it. */
struct args {
    void *at;
    long count;
    MPI_Datatype type;
    int *counts, *places;
    MPI_Count *large_counts;
    MPI_Aint *large_places;
    MPI_Datatype *types;
};

void args_open(struct call *c, struct args *send, struct args *receive, void *rubbish);
void execute(struct call *c, struct args *send, struct args *receive, MPI_Comm comm);
void args_close(struct call *c, struct args *send, struct args *receive);

/* ---- operations of the user ---- */

struct user_op {
    const char *name;
    int parts; /* unsigned numbers in an element; 0: an element of any type, as bytes */
    bool commutes;
    void (*combine)(void *inout, const void *in, size_t bytes);
    MPI_User_function *function;
    MPI_Op handle;
};
extern struct user_op user_ops[];
extern const int user_op_count;
void user_ops_open(void);
void user_ops_close(void);
/* The call that comes next uses one. */
void user_op_expect(const struct call *c, MPI_Datatype type);

#endif
