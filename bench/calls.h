/* Cells that call a collective: common code of coll.c and inter.c. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H
#include "bench.h"

enum { MALLOC, ALLOC_MEM, MEMORIES };
extern const char *const memory_names[MEMORIES];

/* The communicator and the current buffers of a way. Successive calls use addresses `stride` bytes
 * apart in them, up to `room` bytes, so that each call has its own data. */
struct with {
    MPI_Comm comm;
    double *send, *recv;
    size_t stride, room;
};
extern struct with with[2];

/* Set the send and receive buffers of each way, the same for each call. */
void use(double *buffers[2][2]);

/* Defines the cell_fn `name`, which makes the call with `comm`, `send`, `recv` and n doubles. */
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

/* Report that library and host have different results, and abort. */
void differ(const struct cell *c);
#endif
