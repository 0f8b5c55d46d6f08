/* How collectives scale: measured with threads as ranks, and predicted by a model of their cost.
 *
 *     T = depth / ahead * transfer + lines * line     if every rank has a processor
 *     T = turns / ahead * turn * ranks / processors   if there are more ranks than processors
 *
 * `depth` is the number of cache-line transfers that depend on each other, `turns` the same for
 * turns on a processor, `lines` the number of lines that the busiest rank reads or writes, and
 * `ahead` the number of operations in transfer. These follow from the algorithms; `transfer`,
 * `line` and `turn` are measured.
 *
 * Prints the table of docs/measurements.md#scaling-of-collectives; `ratio` is the measured time
 * divided by the predicted one. No MPI.
 */
#include "alloc/arena.h"
#include "coll_inplace/coll.h"
#include "core/config.h"
#include "core/kernels.h"
#include "core/thread.h"
#include "node/node.h"
#include "node/rendezvous.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS_MOST = 128, BATCHES = 7 };

static unsigned ranks;
static long processors;
static pthread_barrier_t start;
static struct team *team_of[RANKS_MOST];

/* ---- running ---- */

typedef void rank_fn(unsigned rank);
static rank_fn *function;

static uint64_t began_at[RANKS_MOST], ended_at[RANKS_MOST];

static void *be_rank(void *number)
{
    unsigned rank = (unsigned)(uintptr_t)number;
    pthread_barrier_wait(&start);
    began_at[rank] = sync_now_ns();
    function(rank);
    ended_at[rank] = sync_now_ns();
    return NULL;
}

/* Returns the time from when the first rank begins until all have finished. The ranks read the
 * clock themselves: a thread that only waits for them may get no processor until they have
 * finished. */
static double run_ranks(unsigned n, rank_fn *what)
{
    pthread_t thread[RANKS_MOST];
    ranks = n;
    function = what;
    pthread_barrier_init(&start, NULL, n);
    for (unsigned r = 0; r < n; r++)
        if (pthread_create(&thread[r], NULL, be_rank, (void *)(uintptr_t)r))
            exit(1);
    uint64_t first = UINT64_MAX, last = 0;
    for (unsigned r = 0; r < n; r++) {
        pthread_join(thread[r], NULL);
        first = began_at[r] < first ? began_at[r] : first;
        last = ended_at[r] > last ? ended_at[r] : last;
    }
    pthread_barrier_destroy(&start);
    return (double)(last - first);
}

/* The shortest of a few runs, because other programs use the machine too. */
static double least(unsigned n, rank_fn *what, unsigned rounds)
{
    double best = 1e18;
    for (int i = 0; i < BATCHES; i++) {
        double time = run_ranks(n, what) / rounds;
        best = time < best ? time : best;
    }
    return best;
}

static void run_on(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* ---- properties of the machine ---- */

enum { BOUNCES = 20000, MANY_LINES = 64, THREADS = 32, LAPS = 500 };
static struct {
    _Alignas(LINE) struct sync_word word;
} flag[2], line[MANY_LINES];
static unsigned extra_lines;

/* A round trip: two transfers, and some more lines in one direction. */
static void bounce(unsigned me)
{
    uint32_t first = sync_load(&flag[me].word), sum = 0;
    run_on((int)me);
    for (uint32_t i = first + 1; i <= first + BOUNCES; i++) {
        if (me)
            sync_wait_until(&flag[0].word, i);
        for (unsigned k = 0; k < extra_lines; k++)
            if (me)
                sum |= sync_load(&line[k].word);
            else
                atomic_store_explicit(&line[k].word.value, i, memory_order_release);
        sync_publish(&flag[me].word, i + (sum == UINT32_MAX));
        if (!me)
            sync_wait_until(&flag[1].word, i);
    }
}

/* The last rank to arrive releases the others: one turn for each. */
static void gather_round(unsigned me)
{
    (void)me;
    for (uint32_t i = 1; i <= LAPS; i++) {
        uint32_t here = atomic_fetch_add(&flag[0].word.value, 1) + 1;
        uint32_t round = (here + THREADS - 1) / THREADS;
        if (here == round * THREADS)
            sync_publish_ordered(&flag[1].word, round);
        sync_wait_until(&flag[1].word, round);
    }
}

static double round_trip(unsigned lines)
{
    extra_lines = lines;
    sync_configure(false, NULL);
    return least(2, bounce, BOUNCES);
}

static double turn_of_one(void)
{
    atomic_store(&flag[0].word.value, 0);
    atomic_store(&flag[1].word.value, 0);
    sync_configure(true, NULL);
    return least(THREADS, gather_round, LAPS) * (double)processors / THREADS;
}

/* ---- collectives of 8 bytes ---- */

enum what { BARRIER, BCAST, ALLREDUCE, ALLGATHER, WHATS };
static const char *const names[] = {"barrier", "bcast 8 B", "allreduce 8 B", "allgather 8 B"};
static enum what what;
static unsigned rounds;
static struct typemap *word;

static void collect(unsigned me)
{
    struct team *t = team_of[me];
    const struct reducer sum = {
        .kernel = kernels_best()->combine[OP_SUM][PRIM_I64], .element = 8, .map = word};
    int64_t mine = me, all[RANKS_MOST];
    struct buffer in = {(char *)&mine, word, 1}, out = {(char *)all, word, 1};
    struct blocks blocks = {.at = (char *)all, .map = word, .count = 1};
    for (unsigned i = 0; i < rounds; i++)
        switch (what) {
        case BARRIER:
            coll_barrier(t);
            break;
        case BCAST:
            coll_bcast(t, in, 0);
            break;
        case ALLREDUCE:
            coll_allreduce(t, &sum, in, out);
            break;
        default:
            coll_allgather(t, in, &blocks, false);
        }
}

static void make_team(unsigned n)
{
    struct team_offer offers[RANKS_MOST];
    for (unsigned r = 0; r < n; r++)
        team_of[r] = team_prepare(n, r, 0, &offers[r]);
    for (unsigned r = 0; r < n; r++)
        if (team_settle(team_of[r], offers, n) != REASON_NONE)
            exit(1);
}

static void leave_team(unsigned n)
{
    for (unsigned r = 0; r < n; r++)
        team_leave(team_of[r]);
    team_reap();
}

/* ---- the model of their cost ---- */

struct cost {
    unsigned depth, turns, ahead;
    double lines;
};

static unsigned tree_depth(unsigned n)
{
    unsigned deepest = 0;
    for (uint32_t v = 1; v < n; v++) {
        unsigned depth = 0;
        for (uint32_t at = v; at; at = tree_parent(at))
            depth++;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

/* The ranks whose slots rank 0, the busiest, waits for: children, or peers in rounds of the
 * barrier.
 */
static unsigned partners(unsigned n)
{
    unsigned count = 0;
    for (unsigned step = 1; step < n; step *= TREE_RADIX)
        for (unsigned j = 1; j < TREE_RADIX && j * step < n; j++)
            count++;
    return count;
}

static unsigned levels(unsigned n)
{
    unsigned count = 0;
    for (unsigned step = 1; step < n; step *= TREE_RADIX)
        count++;
    return count;
}

/* A turn ends when a rank has to wait. A rank sends its part of the next operation in the turn in
 * which the last one ended. */
static struct cost cost_of(enum what it, unsigned n)
{
    const unsigned ahead = TEAM_SLOTS - SLOT_LAG;
    bool flat = n <= TREE_FLAT;
    switch (it) {
    case BARRIER:
        return (struct cost){levels(n), levels(n), 1, levels(n) + partners(n)};
    case BCAST: /* the root also reads the `done` of all ranks now and then */
        return (struct cost){flat ? 1 : tree_depth(n), 1, ahead, 1 + (n - 1.0) / ahead};
    case ALLREDUCE:
        return flat ? (struct cost){1, 1, 1, n}
                    : (struct cost){2 * tree_depth(n), 2, 1, 2 + partners(n)};
    default:
        return (struct cost){1, 1, 1, n};
    }
}

int main(void)
{
    cpu_set_t set;
    struct job job = {.local_size = 1};
    config.heap_size = (size_t)1 << 30;
    thread_concurrent = true;
    rendezvous_enter(&job);
    rendezvous_settle(0, 1, 0, NULL);
    if (!node.header ||
        !arena_open(node_slice(0), node.slice_size, node.header->control_size, SIZE_MAX))
        return 1;
    sched_getaffinity(0, sizeof set, &set);
    processors = CPU_COUNT(&set);
    word = typemap_predefined(1, PRIM_I64, 8, 8);

    double transfer = round_trip(0) / 2;
    double per_line = (round_trip(MANY_LINES) - 2 * transfer) / (2 * MANY_LINES);
    double turn = turn_of_one();
    printf("%ld processors; transfer %.0f ns, line %.1f ns, turn %.0f ns\n\n", processors, transfer,
           per_line, turn);
    printf("| | ranks | depth | lines | a processor each | on %ld, predicted | measured (us) | "
           "ratio |\n",
           processors);
    printf("|---|---|---|---|---|---|---|---|\n");
    for (what = 0; what < WHATS; what++)
        for (unsigned n = 2; n <= RANKS_MOST; n *= 2) {
            struct cost c = cost_of(what, n);
            double apart = c.depth * transfer / c.ahead + c.lines * per_line;
            double shared = c.turns * turn / c.ahead * n / (double)processors;
            bool oversubscribed = n > processors;
            sync_configure(oversubscribed, NULL);
            rounds = oversubscribed ? 20000 / n : 100000;
            make_team(n);
            double time = least(n, collect, rounds);
            leave_team(n);
            double predicted = oversubscribed ? shared : apart;
            printf("| %s | %u | %u | %.1f | %.2f | %.2f | %.2f | %.2f |\n", names[what], n, c.depth,
                   c.lines, apart / 1e3, predicted / 1e3, time / 1e3, time / predicted);
            fflush(stdout);
        }
    return 0;
}
