/* The time of one cell: the ways alternate, round after round. */
#include "bench.h"
#include <stdlib.h>

/* Rounds of a cell; fewer for a cell whose rounds would take longer than LONG_NS. */
enum { ROUNDS = 11, FEW_ROUNDS = 7 };
#define LONG_NS 4e8

double round_ms = 3;

double slowest(double ns)
{
    double all;
    api[HOST].Allreduce(&ns, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Repetitions that are not timed, in the cells that rank 0 runs alone: they bring the data back
 * into the caches, from which the other ways have displaced them. After a copy of 16 MiB by
 * messages of the host, one or two of them are not enough. */
enum { WARM_UP = 4 };

/* ns of n repetitions. If one rank may run ahead of another, the time of the last one counts. */
static double time_of(const struct cell *c, int way, long n)
{
    cell_fn *run = way == FLOOR ? c->floor : c->run;
    double took = 0;
    if (rank == 0 && c->alone)
        run(way, WARM_UP, c->bytes);
    api[HOST].Barrier(MPI_COMM_WORLD);
    if (rank == 0 || !c->alone) {
        double start = now();
        run(way, n, c->bytes);
        took = now() - start;
    }
    return slowest(took);
}

/* The number of repetitions that take about a round's time; the same on all ranks. The first run
 * may include set-up, so there are two. With more ranks than processors, a few short repetitions
 * seem to take a time slice, because the host's barrier before them takes one. Only the host's own
 * calls are that slow. */
static long repetitions(const struct cell *c, int way)
{
    for (long n = way != HOST && c->bytes <= 1024 ? 256 : 1;; n *= 4) {
        double first = time_of(c, way, n), second = time_of(c, way, n);
        double ns = first < second ? first : second;
        if (ns > round_ms * 2.5e5 || n > 100000000)
            return (long)((double)n * round_ms * 1e6 / ns) + 1;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* ---- batches: latency and throughput ---- */

enum { FEWEST = 3, MOST = 300 }; /* batches in a round */

const char *const kind_names[KINDS] = {"latency", "throughput"};

static void wait_for(double deadline)
{
    while (now() < deadline) {
    }
}

/* The median time of a call, in ns, over n batches. A batch with a rank that arrived after the
 * deadline is discarded, unless all are. */
static double time_of_batches(const struct cell *c, int way, long n)
{
    cell_fn *run = way == FLOOR ? c->floor : c->run;
    double on_time[MOST] = {0}, late[MOST] = {0}, returned = 0, last = 0;
    int on_time_count = 0, late_count = 0;
    static long number;
    for (long i = 0; i <= n; i++) {
        if (c->new_input && i < n)
            c->new_input(way, ++number, c->bytes);
        double deadline = common_deadline(returned, &last);
        if (i > 0 && last > 0)
            on_time[on_time_count++] = last;
        else if (i > 0)
            late[late_count++] = -last;
        bool too_late = now() > deadline;
        wait_for(deadline);
        if (i == n)
            break;
        run(way, c->calls, c->bytes);
        returned = now() - deadline;
        if (too_late)
            returned = -returned;
    }
    double ns = on_time_count ? median(on_time, on_time_count) : median(late, late_count);
    return slowest(ns / (double)c->calls);
}

/* How long batches run before those whose results count. Until every slot of a ring in shared
 * memory has been used once, each call may be the first to touch a page. */
#define WARM_UP_NS 1e7

/* The number of batches that take about a round's time, their input included; the same on all
 * ranks. */
static long batches(const struct cell *c, int way)
{
    double start = now(), took, all;
    do {
        double before = now();
        time_of_batches(c, way, FEWEST);
        took = slowest(now() - before);
        all = slowest(now() - start);
    } while (all < WARM_UP_NS);
    double n = round_ms * 1e6 * FEWEST / took;
    return n < FEWEST ? FEWEST : n > MOST ? MOST : (long)n;
}

/* ns per repetition. */
static double time_of_one(const struct cell *c, int way, long n)
{
    return c->calls ? time_of_batches(c, way, n) : time_of(c, way, n) / (double)n;
}

struct result measure(const struct cell *c)
{
    double ns[WAYS][ROUNDS] = {{0}}, ratio[ROUNDS] = {0}, above[ROUNDS] = {0};
    long n[WAYS] = {0};
    int ways = c->floor ? WAYS : FLOOR, rounds = ROUNDS;
    for (int w = 0; w < ways; w++)
        n[w] = c->calls ? batches(c, w) : repetitions(c, w);
    for (int round = 0; round < rounds; round++) {
        double all = 0;
        for (int k = 0; k < ways; k++) {
            int w = round % 2 ? ways - 1 - k : k;
            double start = now();
            ns[w][round] = time_of_one(c, w, n[w]);
            all += now() - start;
        }
        if (round == 0 && slowest(all) * ROUNDS > LONG_NS)
            rounds = FEW_ROUNDS;
        ratio[round] = ns[HOST][round] / ns[LIBRARY][round];
        if (c->floor)
            above[round] = ns[LIBRARY][round] / ns[FLOOR][round];
    }
    struct result r = {.rounds = rounds, .kind = c->calls == 1 ? LATENCY : THROUGHPUT};
    snprintf(r.name, sizeof r.name, "%s", c->name);
    r.ratio = median(ratio, rounds);
    r.lowest = ratio[0];
    r.highest = ratio[rounds - 1];
    for (int w = 0; w < ways; w++)
        r.ns[w] = median(ns[w], rounds);
    if (c->floor)
        r.above_floor = median(above, rounds);
    return r;
}
