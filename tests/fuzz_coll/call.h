/* A collective call as data: the arguments of one rank of a communicator, and the data that it must
 * receive.
 *
 * All ranks of the communicator draw what they must agree on from the same random numbers: the
 * collective, root, operation, element types, amounts between each pair of ranks. Layouts,
 * addresses and kinds of memory are drawn by each rank alone. The data from one rank to another is
 * a random stream of its own, so every rank can compute the data that it has to receive.
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

/* The shape of one side's arguments: none, one message, or one per rank: with a common count and
 * type, with a count and displacement each, with a type each too, or contiguous. */
enum shape { NOTHING, ONE, ALIKE, COUNTED, TYPED, JOINED };

/* The parameters that the number of units from one rank to another depends on. */
enum spread { NEITHER, SENDER, RECEIVER, BOTH };

/* Which ranks may pass MPI_IN_PLACE. */
enum in_place { NO_RANK, ROOT_ONLY, ALL_RANKS };

/* Which ranks' messages are combined in a received one. */
enum meeting { FROM_ONE, FROM_ROOT, FROM_ALL, UP_TO_ME, BEFORE_ME };

struct call;
struct args;
struct form {
    const char *name;
    enum shape send[2], receive[2]; /* at the root (or on all ranks), elsewhere */
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
    long displ, at; /* as passed to MPI, in extents or bytes; in bytes */
    struct pieces pieces;
};

struct side {
    enum shape shape; /* NOTHING: MPI must ignore the arguments here */
    int blocks;
    struct block block[RANKS_MAX];
    long low, high; /* of all bytes, relative to the address */
    long align;
    /* Set by play.c. */
    char *memory, *image; /* the bytes around it, and their expected values */
    long bytes;
    char *at;
    bool from_mpi, own;
};

struct user_op;
struct call {
    uint64_t seed;
    int id, root;
    int rank; /* of this group; on intercommunicators, ranks are numbered through both groups */
    int first, size;    /* the ranks that this rank exchanges data with: on intercommunicators the
                           remote group */
    int own_first, own; /* the local group */
    bool inter;
    enum collective collective;
    const struct form *form;
    bool asks_in_place, in_place; /* passed by each rank that may; by this rank */
    bool large;                   /* with the _c call, if there is one */
    struct unit unit;
    int basic, op; /* reductions; op OP_COUNT: `user` */
    const struct user_op *user;
    const struct layout *layout; /* of a reduction's elements */
    long units, step;            /* of a message; counts are multiples of step */
    long most_derived;           /* bytes of a message that is not contiguous */
    struct side send, receive;
};

/* The kind of programs of this seed: features are left out at random, so that bugs of the remaining
 * ones are not hidden. */
struct profile {
    bool tame;    /* only what the hosts are known to do right */
    bool warm;    /* barriers on a new communicator, for set-up during the first calls; without them
                     programs are tame, as the first calls may be deferred */
    bool aligned; /* elements have their natural alignment, also if only copied */
    int derived;  /* per cent of the types */
    int depth;    /* of these */
    int in_place; /* per cent of the calls, where it is allowed */
    int from_mpi; /* per cent of the buffers: MPI_Alloc_mem */
    int user_ops; /* per cent of the reductions */
    int dawdle;   /* per cent of the calls that a rank is late for */
    int large;    /* per cent of the calls, where there are such */
    long most;    /* bytes of a buffer */
};

/* Known bugs of the host of this build: host.c. */
bool host_is_wrong(const struct call *c);
/* … that end the program. */
bool host_corrupts(const struct call *c);
/* … and the number of bytes that it moves correctly with derived types. */
long host_most_derived(const struct call *c);

void call_invent(struct call *c, const struct profile *p);
void call_print(const struct call *c, char *text, size_t room);

/* The root argument of this rank. */
int root_argument(const struct call *c);

/* The rank that block i of a side comes from, or goes to. */
static inline int rank_of_block(const struct call *c, enum shape shape, int i)
{
    return i + (shape == JOINED ? c->own_first : c->first);
}

/* The number of units that rank `from` sends to rank `to`. */
long units(const struct call *c, int from, int to);

/* Bytes of so many units in the model: element by element, with the extents of each. */
long packed_bytes(const struct call *c, long n);

/* ---- what it moves: model.c ---- */

/* Write this rank's messages into the images of its sides. */
void model_input(struct call *c);
/* Write the messages that it must receive into the image of the side. */
void model_result(struct call *c);
/* Compare sides with their images. */
void judge(struct call *c, struct side *side, const char *name);

/* ---- doing it: execute.c ---- */

/* The arguments of one side for MPI. */
struct args {
    void *at;
    long count;
    MPI_Datatype type;
    int *counts, *displs;
    MPI_Count *large_counts;
    MPI_Aint *large_displs;
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
/* Set the user-defined operation of the next call. */
void user_op_expect(const struct call *c, MPI_Datatype type);

#endif
