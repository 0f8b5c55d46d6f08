/* The benchmark: plugin against host against the machine's floor, in one process.
 *
 * The program knows nothing of the plugin. It has two tables of MPI functions: the names it was
 * linked with, which are the plugin's if that is preloaded, and the host's own, looked up in the
 * host's library. Each cell runs them and its floor in turn, several rounds, and what counts is the
 * ratio of the times of one round: machines drift, neighbours in time drift together. Without the
 * plugin both tables are the host, and all ratios are 1.
 *
 * rma.c, coll.c and inter.c (with calls.c), send.c and shmem.c hold the cells, measure.c
 * times one, report.c prints and sums up, machine.c describes the
 * machine, bench.c sets up.
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
    X(Win_create)           \
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

/* A cell is done in these ways; the first two have an api. */
enum { PLUGIN, HOST, FLOOR, WAYS };

extern struct api api[2];
extern int rank, size;

/* n repetitions of one thing, done in one way. */
typedef void cell_fn(int way, long n, size_t bytes);

/* A cell with `calls` is measured in batches: all ranks write their input data, leave a common
 * deadline and make so many calls; the time is that from the deadline to the last rank's return. */
struct cell {
    const char *name;
    cell_fn *run;
    cell_fn *floor; /* what the machine needs for it; NULL: none */
    size_t bytes;
    bool alone;         /* only rank 0 does it; the others wait in the host */
    long calls;         /* in a batch; 0: rounds of so many repetitions as take round_ms */
    cell_fn *new_input; /* writes the input of the next batch, whose number is n; NULL: none */
};

/* What of a cell is measured: the time of a call by itself, from a synchronised start, or that of
 * calls one after another. */
enum { LATENCY, THROUGHPUT, KINDS };
extern const char *const kind_names[KINDS];

/* Times are those of the slowest rank, in ns a repetition; all ranks know them. */
struct result {
    char name[64];
    int kind;
    const struct part *part;
    int rounds;                    /* 1: something that cannot be repeated, and has no range */
    double ns[WAYS];               /* medians; FLOOR is 0 where there is none */
    double ratio, lowest, highest; /* host / plugin: median and range of the rounds */
    double above_floor;            /* plugin / floor, median */
};

/* What is wanted of one cell of a part. The bounds are for each host; 0: none. */
struct goal {
    const char *cell; /* NULL: the geometric mean of all */
    int ranks;
    bool floor;         /* at most so many times the floor; else at least so many times the host */
    double ompi, mpich; /* bounds */
};

struct part {
    const char *name;
    void (*run)(void); /* all ranks call it; it measures and reports its cells */
    const struct goal *goals;
    size_t goal_count;
};

enum { PARTS = 6 };
extern const struct part rma_part, coll_part, inter_part, send_part, bsend_part, shmem_part;

/* shmem.c: whether there is something to measure. */
bool shmem_is_here(void);

/* bench.c: a barrier of one flag a rank, the floor of all that makes ranks wait for each other. */
cell_fn flag_barrier;

/* bench.c: waits until all ranks have called it, and returns a time in the near future on the clock
 * of now(), the same on all ranks. Rank 0 passes the latest of the returns from the last batch, as
 * times after the deadline, in *last; it is negative if a rank came too late for the deadline. */
double common_deadline(double returned, double *last);

/* machine.c: what the processors are, which caches the ranks share, what they cost. */
void describe_machine(void);

/* measure.c */
extern double round_ms;    /* what a round should take */
double now(void);          /* ns */
double slowest(double ns); /* the largest of all ranks' */
struct result measure(const struct cell *c);

/* report.c */
extern const char *cell_pattern; /* the shell's, found anywhere in a cell's name; NULL: all */
bool wanted(const char *name);
void report_begin(const char *json_path);
void report_part(const struct part *p); /* what comes now is of this part */
void report(const struct result *r);    /* only rank 0 says and remembers something */
void report_end(void);
#endif
