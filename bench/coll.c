/* Collectives: 8 bytes to 5 MiB, from memory of malloc and of MPI_Alloc_mem.
 *
 * Each way has a communicator of its own, so that one does not disturb the other's sequence of
 * calls. The size is that of a rank's block: the data sent to, or received from, one rank. Latency:
 * one call, with buffers of exactly the required length, the same each time. Throughput: calls in
 * sequence, each with other data in a larger buffer; a root or a leaf runs ahead where the standard
 * allows it. All input is written anew before each batch.
 */
#include "calls.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* name, title in the table, call, and for the floor: the flags, and how many blocks a rank gets */
#define COLLECTIVES(X)                                                                             \
    X(barrier, "barrier", Barrier(comm), flag_barrier, 0)                                          \
    X(bcast, "bcast", Bcast(recv, n, MPI_DOUBLE, 0, comm), flags_from_root, rank != 0)             \
    X(gather, "gather", Gather(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, 0, comm), flags_to_root,  \
      rank ? 0 : size)                                                                             \
    X(gatherv, "gatherv", Gatherv(send, n, MPI_DOUBLE, recv, counts, places, MPI_DOUBLE, 0, comm), \
      flags_to_root, rank ? 0 : size)                                                              \
    X(scatter, "scatter", Scatter(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, 0, comm),              \
      flags_from_root, 1)                                                                          \
    X(scatterv, "scatterv",                                                                        \
      Scatterv(send, counts, places, MPI_DOUBLE, recv, n, MPI_DOUBLE, 0, comm), flags_from_root,   \
      1)                                                                                           \
    X(allgather, "allgather", Allgather(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, comm),           \
      flag_barrier, size)                                                                          \
    X(allgather_ip, "allgather in place",                                                          \
      Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, MPI_DOUBLE, comm), flag_barrier,      \
      size - 1)                                                                                    \
    X(allgatherv, "allgatherv",                                                                    \
      Allgatherv(send, n, MPI_DOUBLE, recv, counts, places, MPI_DOUBLE, comm), flag_barrier, size) \
    X(alltoall, "alltoall", Alltoall(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, comm),              \
      flag_barrier, size)                                                                          \
    X(alltoall_ip, "alltoall in place",                                                            \
      Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, MPI_DOUBLE, comm), flag_barrier,       \
      size - 1)                                                                                    \
    X(alltoallv, "alltoallv",                                                                      \
      Alltoallv(send, counts, places, MPI_DOUBLE, recv, counts, places, MPI_DOUBLE, comm),         \
      flag_barrier, size)                                                                          \
    X(reduce, "reduce", Reduce(send, recv, n, MPI_DOUBLE, MPI_SUM, 0, comm), flags_to_root,        \
      rank == 0)                                                                                   \
    X(reduce_ip, "reduce in place",                                                                \
      Reduce(rank ? send : MPI_IN_PLACE, recv, n, MPI_DOUBLE, MPI_SUM, 0, comm), flags_to_root,    \
      rank == 0)                                                                                   \
    X(allreduce, "allreduce", Allreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, comm), flag_barrier,   \
      1)                                                                                           \
    X(allreduce_ip, "allreduce in place",                                                          \
      Allreduce(MPI_IN_PLACE, recv, n, MPI_DOUBLE, MPI_SUM, comm), flag_barrier, 1)                \
    X(reduce_scatter_block, "reduce_scatter_block",                                                \
      Reduce_scatter_block(send, recv, n, MPI_DOUBLE, MPI_SUM, comm), flag_barrier, 1)             \
    X(scan, "scan", Scan(send, recv, n, MPI_DOUBLE, MPI_SUM, comm), flags_from_root, 1)            \
    X(exscan, "exscan", Exscan(send, recv, n, MPI_DOUBLE, MPI_SUM, comm), flags_from_root,         \
      rank != 0)

static const struct {
    size_t bytes;
    const char *name;
} sizes[] = {{8, "8 B"},           {128, "128 B"},         {1 << 10, "1 KiB"},
             {3 << 10, "3 KiB"},   {8 << 10, "8 KiB"},     {16 << 10, "16 KiB"},
             {24 << 10, "24 KiB"}, {128 << 10, "128 KiB"}, {384 << 10, "384 KiB"},
             {1 << 20, "1 MiB"},   {5 << 20, "5 MiB"}};

/* Maximum of a buffer; cells that need more are left out. BATCH_BYTES: the data of a batch's calls,
 * so that they stay in the caches if those of a few calls would. */
enum { BUFFER_BYTES = 64 << 20, BATCH_BYTES = 4 << 20, FEWEST_CALLS = 3, MOST_CALLS = 64 };

static int *counts, *places; /* each rank's block, of the current size */

#define X(name, label, call, flags, blocks) CALL(name, call)
COLLECTIVES(X)
#undef X

/* The floor: the flags without which a rank cannot return, and one copy of the blocks that it gets.
 */
#define X(name, label, call, flags, blocks)                               \
    static void name##_floor(int way, long times, size_t bytes)           \
    {                                                                     \
        const struct with w = with[HOST];                                 \
        size_t length = bytes * (size_t)(blocks);                         \
        for (size_t at = 0; times; times--) {                             \
            flags(way, 1, bytes);                                         \
            copy_floor((char *)w.recv + at, (char *)w.send + at, length); \
            __asm__ volatile("" ::: "memory");                            \
            at = at + w.stride < w.room ? at + w.stride : 0;              \
        }                                                                 \
    }
COLLECTIVES(X)
#undef X

static const struct {
    const char *name;
    cell_fn *run, *floor;
} collectives[] = {
#define X(name, label, call, flags, blocks) {label, name, name##_floor},
    COLLECTIVES(X)
#undef X
};

/* ---- data ---- */

static void fill(double *buffer, size_t bytes, long number)
{
    for (size_t i = 0; i < bytes / sizeof *buffer; i++)
        buffer[i] = (double)((i + (size_t)number + (size_t)rank * 13) % 61); /* sums are exact */
}

/* The input is in the receive buffer, not in the send buffer. */
static bool is_in_place(cell_fn *run)
{
    return run == bcast || run == allgather_ip || run == alltoall_ip || run == allreduce_ip ||
           run == reduce_ip;
}

static cell_fn *running; /* the current collective */

static size_t bytes_of_call(size_t bytes)
{
    return bytes * (size_t)size;
}

static void new_input(int way, long number, size_t bytes)
{
    const struct with *w = &with[way == FLOOR ? HOST : way];
    size_t all = w->room ? w->room : bytes_of_call(bytes);
    if (is_in_place(running))
        fill(w->recv, all, number);
    if (!is_in_place(running) || running == reduce_ip)
        fill(w->send, all, number);
}

static uint64_t digest(const double *buffer, size_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *buffer; i++) {
        uint64_t word;
        memcpy(&word, &buffer[i], sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15 + (sum >> 29);
    }
    return sum;
}

/* Compare the buffers after each way's first call, outside the blocks too. Exscan leaves rank 0's
 * undefined. */
static void compare(const struct cell *c)
{
    size_t bytes = bytes_of_call(c->bytes);
    uint64_t found[2];
    for (int w = LIBRARY; w <= HOST; w++) {
        fill(with[w].recv, bytes, 0);
        fill(with[w].send, bytes, 1);
        c->run(w, 1, c->bytes);
        found[w] = digest(with[w].recv, bytes);
    }
    if (found[LIBRARY] != found[HOST] && !(c->run == exscan && rank == 0))
        differ(c);
}

/* ---- the cells ---- */

static void lay_out(size_t bytes)
{
    for (int r = 0; r < size; r++) {
        counts[r] = (int)(bytes / sizeof(double));
        places[r] = r * counts[r];
    }
}

/* Buffers for a cell: of the length for one call, or for a batch. */
static void take_buffers(int memory, size_t bytes, size_t stride)
{
    for (int w = LIBRARY; w <= HOST; w++) {
        double **const buffers[] = {&with[w].send, &with[w].recv};
        for (int b = 0; b < 2; b++)
            if (memory == ALLOC_MEM)
                api[w].Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, buffers[b]);
            else /* the same memory for both ways: physical placement makes a difference */
                *buffers[b] =
                    w == HOST ? (b ? with[LIBRARY].recv : with[LIBRARY].send) : malloc(bytes);
        with[w].stride = stride;
        with[w].room = stride ? bytes : 0;
        fill(with[w].send, bytes, 0);
        fill(with[w].recv, bytes, 0);
    }
}

static void give_buffers_back(int memory)
{
    for (int w = LIBRARY; w <= HOST; w++)
        for (int b = 0; b < 2; b++) {
            double *buffer = b ? with[w].recv : with[w].send;
            if (memory == ALLOC_MEM)
                api[w].Free_mem(buffer);
            else if (w == LIBRARY)
                free(buffer);
        }
}

static long calls_of(int kind, size_t bytes)
{
    size_t calls = BATCH_BYTES / bytes_of_call(bytes);
    return kind == LATENCY        ? 1
           : calls > MOST_CALLS   ? MOST_CALLS
           : calls < FEWEST_CALLS ? FEWEST_CALLS
                                  : (long)calls;
}

static void run_cell(size_t i, const char *bytes_name, size_t bytes, int memory, int kind)
{
    char name[64];
    cell_fn *run = collectives[i].run;
    if (run == barrier)
        snprintf(name, sizeof name, "%s, %s", collectives[i].name, kind_names[kind]);
    else
        snprintf(name, sizeof name, "%s %s %s, %s", collectives[i].name, bytes_name,
                 memory_names[memory], kind_names[kind]);
    long calls = calls_of(kind, bytes);
    size_t stride = (bytes_of_call(bytes) + 63) / 64 * 64;
    if (stride * (size_t)calls > BUFFER_BYTES || !wanted(name))
        return;
    lay_out(bytes);
    running = run;
    if (kind == LATENCY)
        take_buffers(memory, bytes_of_call(bytes), 0);
    else
        take_buffers(memory, stride * (size_t)calls, stride);
    struct cell c = {.name = name,
                     .run = run,
                     .floor = has_flags() ? collectives[i].floor : NULL,
                     .bytes = bytes,
                     .calls = calls,
                     .new_input = new_input};
    compare(&c);
    struct result r = measure(&c);
    report(&r);
    give_buffers_back(memory);
}

/* A communicator may be set up during its first calls. */
static void warm_up(void)
{
    lay_out(8);
    take_buffers(MALLOC, bytes_of_call(8), 0);
    for (int w = LIBRARY; w <= HOST; w++)
        for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
            collectives[i].run(w, 30, 8);
    give_buffers_back(MALLOC);
}

static void run_collective(size_t i)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int m = 0; m < MEMORIES; m++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                if (collectives[i].run != barrier || (s == 0 && m == 0))
                    run_cell(i, sizes[s].name, sizes[s].bytes, m, kind);
}

static void run(void)
{
    counts = calloc((size_t)size, sizeof *counts);
    places = calloc((size_t)size, sizeof *places);
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Comm_dup(MPI_COMM_WORLD, &with[w].comm);
    warm_up();
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        run_collective(i);
    for (int w = LIBRARY; w <= HOST; w++)
        api[w].Comm_free(&with[w].comm);
    free(counts);
    free(places);
}

const struct part coll_part = {"coll", run};
