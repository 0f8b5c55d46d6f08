/* The benchmark: the library, the host and the machine's floor, in one process.
 *
 * The program does not depend on the library. It has two tables of MPI functions: the names that it
 * refers to, which resolve to the library if it is preloaded, and the host's own, looked up in the
 * host's library. Each cell runs with both tables and as its floor, alternating, in several
 * rounds. The result is the median over the rounds of the ratio within a round: a machine's speed
 * drifts, but neighbouring measurements drift together. Without the library both tables are the
 * host, and all ratios are 1.
 *
 *  rank.c       the program of a rank; loads the MPI, and the rest, which is compiled once per ABI
 *  main.c       options, and the order of the parts
 *  api.c        the two tables of functions, the rank, the clock
 *  flags.c      barrier and common deadline without MPI
 *  machine.c    describes the machine
 *  measure.c    times one cell
 *  report.c     prints the results for `mpiaccel bench` (command/mpiaccel-bench)
 *  rma.c, coll.c, inter.c (with calls.c), send.c, shmem.c    the cells
 */
#ifndef BENCH_H
#define BENCH_H
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define FUNCTIONS(X)        \
    X(Accumulate)           \
    X(Allgather)            \
    X(Allgatherv)           \
    X(Alloc_mem)            \
    X(Allreduce)            \
    X(Alltoall)             \
    X(Alltoallv)            \
    X(Barrier)              \
    X(Bcast)                \
    X(Bsend)                \
    X(Buffer_attach)        \
    X(Buffer_detach)        \
    X(Comm_dup)             \
    X(Comm_free)            \
    X(Comm_split)           \
    X(Compare_and_swap)     \
    X(Exscan)               \
    X(Fetch_and_op)         \
    X(Free_mem)             \
    X(Gather)               \
    X(Gatherv)              \
    X(Get)                  \
    X(Get_accumulate)       \
    X(Intercomm_create)     \
    X(Iprobe)               \
    X(Put)                  \
    X(Recv)                 \
    X(Reduce)               \
    X(Reduce_scatter_block) \
    X(Rput)                 \
    X(Scan)                 \
    X(Scatter)              \
    X(Scatterv)             \
    X(Send)                 \
    X(Wait)                 \
    X(Win_allocate)         \
    X(Win_allocate_shared)  \
    X(Win_attach)           \
    X(Win_create)           \
    X(Win_create_dynamic)   \
    X(Win_detach)           \
    X(Win_fence)            \
    X(Win_flush)            \
    X(Win_free)             \
    X(Win_lock)             \
    X(Win_lock_all)         \
    X(Win_unlock)           \
    X(Win_unlock_all)

struct api {
#define X(name) __typeof__(&MPI_##name) name;
    FUNCTIONS(X)
#undef X
};

/* A cell runs in these ways; the first two have an api. */
enum { LIBRARY, HOST, FLOOR, WAYS };

extern struct api api[2];
extern int rank, size; /* in MPI_COMM_WORLD, set by main.c */

/* api.c: look up the functions of both tables. `mpi` is the handle of the host's library. */
void find_apis(void *mpi);

/* api.c: CLOCK_MONOTONIC, in ns. */
double now(void);

/* n repetitions of the cell's operation, in one way. */
typedef void cell_fn(int way, long n, size_t bytes);

/* A cell with `calls` is measured in batches: all ranks write their input data, wait for a common
 * deadline and make that many calls; the time is that from the deadline to the last rank's return.
 */
struct cell {
    const char *name;
    cell_fn *run;
    cell_fn *floor; /* the minimum that the machine needs for it; NULL: none */
    size_t bytes;
    bool alone;         /* only rank 0 runs it; the other ranks wait in the host */
    long calls;         /* per batch; 0: rounds of as many repetitions as take round_ms */
    cell_fn *new_input; /* writes the input of batch number n; NULL: none */
};

/* Latency: the time of one call from a synchronised start. Throughput: that of calls in sequence.
 */
enum { LATENCY, THROUGHPUT, KINDS };
extern const char *const kind_names[KINDS];

/* Times are those of the slowest rank, in ns per repetition, the same on all ranks. */
struct result {
    char name[64];
    int kind;
    int rounds;                    /* 1: cannot be repeated, and has no range */
    double ns[WAYS];               /* medians; FLOOR is 0 where there is none */
    double ratio, lowest, highest; /* host / library: median and range of the rounds */
    double above_floor;            /* library / floor, median */
};

struct part {
    const char *name;
    void (*run)(void); /* called by all ranks; measures and reports the part's cells */
};

enum { PARTS = 6 };
extern const struct part rma_part, coll_part, inter_part, send_part, bsend_part, shmem_part;

/* shmem.c: whether the OpenSHMEM calls are available. */
bool shmem_is_here(void);

/* flags.c: allocate the flags, after MPI_Init, and free them. Ranks on several nodes have none:
 * then only the calls of coll.c are measured, without floors. */
void share_flags(void);
bool has_flags(void);
void free_flags(void);

/* flags.c: the floors of cells that synchronise ranks, with one flag per rank: each rank waits for
 * all others, all wait for rank 0, or rank 0 waits for all. */
cell_fn flag_barrier, flags_from_root, flags_to_root;

/* flags.c: the floor of a message between the ranks 0 and 1; all ranks call it, but only its
 * receiver waits. */
void flag_message(int from);

/* flags.c: waits until all ranks have called it, and returns a time in the near future on the clock
 * of now(), the same on all ranks. Each rank passes in `returned` the time from the deadline of the
 * last batch to its return, negated if it was too late for the deadline. On rank 0, *last becomes
 * the longest of these times, negated if any is. Without flags, the time is that at which the
 * host's barrier has released this rank. */
double common_deadline(double returned, double *last);

/* machine.c: the number of nodes, by the names that the host gives them. */
int count_nodes(void);

/* machine.c: reports the processors, caches, memory and kernel, and basic costs. */
void describe_machine(void);

/* machine.c: the copy of the machine floor. The C library's memcpy() is up to 28 times slower on
 * some processors for certain distances (docs/decisions/058-copy-in-pieces.md). */
void copy_floor(void *to, const void *from, size_t bytes);

/* measure.c */
extern double round_ms;    /* duration of a round */
double slowest(double ns); /* the maximum of all ranks */
struct result measure(const struct cell *c);

/* report.c: a line of JSON on standard output, an object in which the caller prints the members. */
void line_begin(const char *kind);
void line_text(const char *name, const char *text); /* a member that is a string */
void line_end(void);

/* report.c */
extern const char *cell_pattern; /* a shell pattern, matched anywhere in a cell's name; NULL: all */
bool wanted(const char *name);   /* called once for each cell; whether to measure it */
int count_cells(const struct part *p);  /* runs the part without measuring */
void report_begin(int cells);           /* the number of cells that will be reported */
void report_part(const struct part *p); /* the following results belong to this part */
void report(const struct result *r);
#endif
