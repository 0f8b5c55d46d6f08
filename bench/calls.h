/* Cells that call a collective: what coll.c and inter.c have in common. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H
#include "bench.h"

enum { MALLOC, ALLOC_MEM, MEMORIES };
extern const char *const memory_names[MEMORIES];

/* What a way works with: its communicator, and the buffers of now. Successive calls use places
 * `stride` bytes apart in them, up to `room` bytes, so that each call has its own data. */
struct with {
    MPI_Comm comm;
    double *send, *recv;
    size_t stride, room;
};
extern struct with with[2];

/* Let each way have its buffers, to send and to receive, the same for each call. */
void use(double *buffers[2][2]);

/* The cell_fn `name`, which makes the call with `comm`, `send`, `recv` and n doubles. */
#define CALL(name, call)                                     \
    static void name(int way, long times, size_t bytes)      \
    {                                                        \
        const struct api *mpi = &api[way];                   \
        const struct with w = with[way];                     \
        MPI_Comm comm = w.comm;                              \
        int n = (int)(bytes / sizeof(double));               \
        for (size_t at = 0; times; times--) {                \
            double *send = w.send + at / sizeof(double);     \
            double *recv = w.recv + at / sizeof(double);     \
            (void)send, (void)recv, (void)n;                 \
            mpi->call;                                       \
            at = at + w.stride < w.room ? at + w.stride : 0; \
        }                                                    \
    }

/* Plugin and host have different results: the end. */
void differ(const struct cell *c);
#endif
