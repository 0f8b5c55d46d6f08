/* Cells that call a collective: what coll.c and inter.c have in common. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H
#include "bench.h"

enum { MALLOC, ALLOC_MEM, MEMORIES };
extern const char *const memory_names[MEMORIES];

/* What a way works with: its communicator, and the buffers of now. */
struct with {
    MPI_Comm comm;
    double *send, *recv;
};
extern struct with with[2];

/* Let each way have its buffers, to send and to receive. */
void use(double *buffers[2][2]);

/* The cell_fn `name`, which makes the call with `comm`, `send`, `recv` and n doubles. */
#define CALL(name, call)                                       \
    static void name(int way, long times, size_t bytes)        \
    {                                                          \
        const struct api *mpi = &api[way];                     \
        MPI_Comm comm = with[way].comm;                        \
        double *send = with[way].send, *recv = with[way].recv; \
        int n = (int)(bytes / sizeof(double));                 \
        (void)send, (void)recv, (void)n;                       \
        for (; times; times--)                                 \
            mpi->call;                                         \
    }

/* Plugin and host have different results: the end. */
void differ(const struct cell *c);
#endif
