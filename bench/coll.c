/* Collectives: 8 bytes to 8 MiB, from memory of malloc and of MPI_Alloc_mem.
 *
 * Each way has a communicator of its own, so that neither disturbs the other's sequence. The size
 * is that of a rank's block: what is sent to, or comes from, one rank. A round is nothing but one
 * call after the other: where the standard lets a root or a leaf run ahead, it does.
 */
#include "calls.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* name, what the table calls it, its call */
#define COLLECTIVES(X)                                                                             \
    X(barrier, "barrier", Barrier(comm))                                                           \
    X(bcast, "bcast", Bcast(recv, n, MPI_DOUBLE, 0, comm))                                         \
    X(gather, "gather", Gather(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, 0, comm))                 \
    X(gatherv, "gatherv", Gatherv(send, n, MPI_DOUBLE, recv, counts, places, MPI_DOUBLE, 0, comm)) \
    X(scatter, "scatter", Scatter(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, 0, comm))              \
    X(scatterv, "scatterv",                                                                        \
      Scatterv(send, counts, places, MPI_DOUBLE, recv, n, MPI_DOUBLE, 0, comm))                    \
    X(allgather, "allgather", Allgather(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, comm))           \
    X(allgather_ip, "allgather in place",                                                          \
      Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, MPI_DOUBLE, comm))                    \
    X(allgatherv, "allgatherv",                                                                    \
      Allgatherv(send, n, MPI_DOUBLE, recv, counts, places, MPI_DOUBLE, comm))                     \
    X(alltoall, "alltoall", Alltoall(send, n, MPI_DOUBLE, recv, n, MPI_DOUBLE, comm))              \
    X(alltoall_ip, "alltoall in place",                                                            \
      Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, MPI_DOUBLE, comm))                     \
    X(alltoallv, "alltoallv",                                                                      \
      Alltoallv(send, counts, places, MPI_DOUBLE, recv, counts, places, MPI_DOUBLE, comm))         \
    X(reduce, "reduce", Reduce(send, recv, n, MPI_DOUBLE, MPI_SUM, 0, comm))                       \
    X(reduce_ip, "reduce in place",                                                                \
      Reduce(rank ? send : MPI_IN_PLACE, recv, n, MPI_DOUBLE, MPI_SUM, 0, comm))                   \
    X(allreduce, "allreduce", Allreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, comm))                 \
    X(allreduce_ip, "allreduce in place",                                                          \
      Allreduce(MPI_IN_PLACE, recv, n, MPI_DOUBLE, MPI_SUM, comm))                                 \
    X(reduce_scatter_block, "reduce_scatter_block",                                                \
      Reduce_scatter_block(send, recv, n, MPI_DOUBLE, MPI_SUM, comm))                              \
    X(scan, "scan", Scan(send, recv, n, MPI_DOUBLE, MPI_SUM, comm))                                \
    X(exscan, "exscan", Exscan(send, recv, n, MPI_DOUBLE, MPI_SUM, comm))

static const struct {
    size_t bytes;
    const char *name;
} sizes[] = {{8, "8 B"},         {128, "128 B"},         {1 << 10, "1 KiB"},
             {8 << 10, "8 KiB"}, {128 << 10, "128 KiB"}, {1 << 20, "1 MiB"},
             {8 << 20, "8 MiB"}};

/* Most that a buffer has; a cell that needs more is left out. */
enum { BUFFER_BYTES = 64 << 20 };

static int *counts, *places; /* each rank's block, of the size of now */

#define X(name, label, call) CALL(name, call)
COLLECTIVES(X)
#undef X

static const struct {
    const char *name;
    cell_fn *run;
} collectives[] = {
#define X(name, label, call) {label, name},
    COLLECTIVES(X)
#undef X
};

/* ---- the same result ---- */

static void fill(double *buffer, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *buffer; i++)
        buffer[i] = (double)((i + (size_t)rank * 13) % 61); /* sums are exact */
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

/* Each way's first call: what it leaves in the buffer, outside the blocks too. Exscan leaves rank
 * 0's undefined. What is left for the rounds is zero, that sums in place stay finite. */
static void compare(const struct cell *c)
{
    size_t bytes = c->bytes * (size_t)size;
    uint64_t found[2];
    for (int w = PLUGIN; w <= HOST; w++) {
        fill(with[w].recv, bytes);
        c->run(w, 1, c->bytes);
        found[w] = digest(with[w].recv, bytes);
        memset(with[w].recv, 0, bytes);
    }
    if (found[PLUGIN] != found[HOST] && !(c->run == exscan && rank == 0))
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

static void run_cell(cell_fn *run, const char *collective, const char *bytes_name, size_t bytes,
                     const char *memory)
{
    char name[48];
    bool flags = run == barrier || (bytes == 8 && (run == allreduce || run == allreduce_ip));
    if (run == barrier)
        snprintf(name, sizeof name, "%s", collective);
    else
        snprintf(name, sizeof name, "%s %s %s", collective, bytes_name, memory);
    if (!wanted(name) || bytes * (size_t)size > BUFFER_BYTES)
        return;
    lay_out(bytes);
    struct cell c = {name, run, flags ? flag_barrier : NULL, bytes, false};
    compare(&c);
    struct result r = measure(&c);
    report(&r);
}

/* A communicator may be set up after some calls only. */
static void warm_up(void)
{
    lay_out(8);
    for (int w = PLUGIN; w <= HOST; w++)
        for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
            collectives[i].run(w, 30, 8);
}

static void run(void)
{
    size_t room = (size_t)size * (8 << 20);
    double *buffers[MEMORIES][2][2]; /* memory, way, send or receive */
    room = room < BUFFER_BYTES ? room : BUFFER_BYTES;
    counts = calloc((size_t)size, sizeof *counts);
    places = calloc((size_t)size, sizeof *places);
    for (int b = 0; b < 2; b++) {
        buffers[MALLOC][PLUGIN][b] = buffers[MALLOC][HOST][b] = malloc(room);
        for (int w = PLUGIN; w <= HOST; w++) {
            api[w].Alloc_mem((MPI_Aint)room, MPI_INFO_NULL, &buffers[ALLOC_MEM][w][b]);
            for (int m = 0; m < MEMORIES; m++)
                fill(buffers[m][w][b], room);
        }
    }
    for (int w = PLUGIN; w <= HOST; w++)
        api[w].Comm_dup(MPI_COMM_WORLD, &with[w].comm);
    use(buffers[MALLOC]);
    warm_up();

    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        for (int m = 0; m < MEMORIES; m++) {
            use(buffers[m]);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                if (collectives[i].run != barrier || (s == 0 && m == 0))
                    run_cell(collectives[i].run, collectives[i].name, sizes[s].name, sizes[s].bytes,
                             memory_names[m]);
        }
    }

    for (int b = 0; b < 2; b++) {
        free(buffers[MALLOC][PLUGIN][b]);
        for (int w = PLUGIN; w <= HOST; w++)
            api[w].Free_mem(buffers[ALLOC_MEM][w][b]);
    }
    for (int w = PLUGIN; w <= HOST; w++)
        api[w].Comm_free(&with[w].comm);
    free(counts);
    free(places);
}

static const struct goal goals[] = {
    {NULL, 2, false, 2, 3},
    {"barrier", 2, true, 1.3, 1.3},
    {"allreduce 8 B malloc", 2, true, 1.5, 1.5},
    {"allreduce 8 B Alloc_mem", 2, true, 1.5, 1.5},
    {"bcast 8 B malloc", 2, false, 1, 1},
    {"bcast 8 B Alloc_mem", 2, false, 1, 1},
    {"allreduce 8 KiB Alloc_mem", 2, false, 6, 0},
    {"allreduce 128 KiB Alloc_mem", 2, false, 5, 0},
    {"allreduce 1 MiB Alloc_mem", 2, false, 3.5, 0},
    {"allreduce 8 MiB Alloc_mem", 2, false, 2.5, 0},
    {"allreduce in place 8 MiB Alloc_mem", 2, false, 2.2, 0},
    {"allreduce 8 KiB malloc", 2, false, 4, 0},
    {"allreduce 128 KiB malloc", 2, false, 3, 0},
    {"allreduce 1 MiB malloc", 2, false, 0, 0},
    {"allreduce 8 MiB malloc", 2, false, 1.6, 0},
    {"barrier", 4, false, 1.3, 100},
    {"allreduce 8 B malloc", 4, false, 1.3, 100},
    {"allreduce 8 B Alloc_mem", 4, false, 1.3, 100},
};

const struct part coll_part = {"coll", run, goals, sizeof goals / sizeof *goals};
