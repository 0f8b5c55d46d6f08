#include "peer_copy/calibrate.h"

#include "alloc/arena.h"
#include "core/copy.h"
#include "core/copy_policy.h"
#include "core/log.h"
#include "core/peer_memory.h"
#include "node/node.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t patience_ns = 1000000; /* a test sets a longer time */

enum { ABSENT, PRESENT, RUNNING, OVER };

/* A message of SAMPLE bytes goes in pieces of PIECE bytes through the next cells of the ring, or is
 * one piece if copied by the OS. */
enum { SAMPLE = 64 << 10, PIECE = 8 << 10, PIECES = SAMPLE / PIECE };

/* A round is one message of fresh data and a stream of unchanged ones. The first round of each way
 * does not count. Before all rounds, LAP messages touch the pages of all cells. */
enum { ROUNDS = 4, STREAM = 2 };
enum { SAMPLE_RING = SAMPLE_CELLS * SAMPLE_ROOM, LAP = SAMPLE_RING / SAMPLE };

struct side {
    struct layout_calibration *shared;
    const struct layout_member *writer;
    char *cells;   /* shared */
    char *memory;  /* private: the source of the writer, the destination of the reader */
    uint32_t done; /* pieces */
};

/* ---- the two sides of a message ---- */

/* As cell_for() in coll_inplace/mailbox.h: at another position in the cell each time all cells
 * have been used. */
static char *sample_cell(const struct side *s, uint32_t piece)
{
    return s->cells + piece % SAMPLE_CELLS * (size_t)SAMPLE_ROOM +
           piece / SAMPLE_CELLS * PIECE % SAMPLE_ROOM;
}

static void write_cell(const struct side *s, enum copy_way way, const char *from)
{
    if (way == COPY_CACHED)
        copy_to_peers(sample_cell(s, s->done), from, PIECE);
    else if (way == COPY_NONTEMPORAL)
        copy_nontemporal(sample_cell(s, s->done), from, PIECE);
}

/* The prefetching here and in take_data() is that of team_publish() and team_wait_ahead(). */
static void give_data(struct side *s, enum copy_way way)
{
    unsigned pieces = way == COPY_BY_OS ? 1 : PIECES;
    for (unsigned i = 0; i < pieces; i++) {
        sync_wait_until(&s->shared->taken, s->done + 1 - SAMPLE_CELLS);
        write_cell(s, way, s->memory + i * (size_t)PIECE);
        assert(sync_load(&s->shared->given) == s->done); /* written here only */
        sync_publish(&s->shared->given, ++s->done);
        if (way == COPY_CACHED)
            prefetch_block_to_write(sample_cell(s, s->done), PIECE);
    }
    if (way == COPY_BY_OS) /* the reader copies from the source itself */
        sync_wait_until(&s->shared->taken, s->done);
}

static void take_data(struct side *s, enum copy_way way)
{
    unsigned pieces = way == COPY_BY_OS ? 1 : PIECES;
    for (unsigned i = 0; i < pieces; i++) {
        if (sync_reached(sync_load(&s->shared->given), s->done + 1))
            prefetch_block_to_read(sample_cell(s, s->done + 1), PIECE);
        else
            sync_wait_until(&s->shared->given, s->done + 1);
        if (way == COPY_BY_OS)
            peer_memory_read(s->writer->pid, s->memory, s->shared->source, SAMPLE);
        else
            copy_bytes(s->memory + i * (size_t)PIECE, sample_cell(s, s->done), PIECE);
        assert(sync_load(&s->shared->taken) == s->done); /* written here only */
        sync_publish(&s->shared->taken, ++s->done);
    }
}

/* ---- measuring ---- */

static void write_fresh(struct side *s, unsigned round)
{
    memset(s->memory, (int)round + 1, SAMPLE);
}

static uint64_t messages(struct side *s, enum copy_way way, unsigned count)
{
    uint64_t start = sync_now_ns();
    for (unsigned i = 0; i < count; i++)
        give_data(s, way);
    sync_wait_until(&s->shared->taken, s->done);
    return (sync_now_ns() - start) / count;
}

/* The minimum over the rounds, since either rank may lose its processor in some of them. */
static uint64_t cost_of(struct side *s, enum copy_way way)
{
    uint64_t fresh = UINT64_MAX, unchanged = UINT64_MAX;
    for (unsigned round = 0; round < ROUNDS; round++) {
        write_fresh(s, round);
        uint64_t one = messages(s, way, 1), each = messages(s, way, STREAM);
        if (round) {
            fresh = one < fresh ? one : fresh;
            unchanged = each < unchanged ? each : unchanged;
        }
    }
    return fresh + unchanged;
}

static bool is_possible(const struct side *s, enum copy_way way)
{
    return way != COPY_BY_OS || s->shared->permitted;
}

static void measure(struct side *s)
{
    struct copy_costs costs = {{0}};
    write_fresh(s, 0);
    messages(s, COPY_CACHED, LAP);
    for (enum copy_way way = 0; way < COPY_WAYS; way++)
        if (is_possible(s, way))
            costs.ns[way] = cost_of(s, way);
    uint32_t policy = copy_policy(&costs);
    atomic_store_explicit(&node.header->copy_policy, policy, memory_order_relaxed);
    log_message(
        3,
        "64 KiB from rank to rank: %llu ns through cells, %llu with streaming stores, %llu by "
        "the OS (0: not possible)",
        (unsigned long long)costs.ns[COPY_CACHED], (unsigned long long)costs.ns[COPY_NONTEMPORAL],
        (unsigned long long)costs.ns[COPY_BY_OS]);
}

static void read_samples(struct side *s)
{
    for (unsigned i = 0; i < LAP; i++)
        take_data(s, COPY_CACHED);
    for (enum copy_way way = 0; way < COPY_WAYS; way++)
        for (unsigned i = 0; i < ROUNDS * (1 + STREAM) && is_possible(s, way); i++)
            take_data(s, way);
}

/* ---- agreement ---- */

static bool change(struct layout_calibration *c, uint32_t from, uint32_t to)
{
    /* Release: a rank that reads the new state also sees everything written before it. */
    bool changed = atomic_compare_exchange_strong_explicit(
        &c->state.value, &from, to, memory_order_acq_rel, memory_order_acquire);
    sync_wake(&c->state);
    return changed;
}

/* Wait until the state is no longer `from`, but not longer than patience_ns. Returns the state. */
static uint32_t await_state(struct layout_calibration *c, uint32_t from)
{
    struct sync_wait wait = SYNC_WAIT;
    uint64_t end = sync_now_ns() + patience_ns;
    while (sync_load(&c->state) == from && sync_now_ns() < end)
        sync_wait(&wait, &c->state, from);
    return sync_load(&c->state);
}

static void write_all(struct side *s)
{
    uint64_t position;
    s->cells = arena_control_alloc_raw(SAMPLE_RING);
    bool ready = s->cells && node_position(s->cells, SAMPLE_RING, &position);
    if (ready) {
        s->shared->cells = position;
        s->shared->source = (uint64_t)(uintptr_t)s->memory;
        if (await_state(s->shared, ABSENT) == PRESENT && change(s->shared, PRESENT, RUNNING))
            measure(s);
    }
    if (!change(s->shared, ABSENT, OVER))
        change(s->shared, PRESENT, OVER);
    if (s->cells)
        arena_control_free(s->cells);
}

static void read_all(struct side *s)
{
    s->shared->permitted =
        copy_policy_permits_os() &&
        peer_memory_works(s->writer->pid, s->writer->probe_address, s->writer->probe);
    if (!change(s->shared, ABSENT, PRESENT))
        return;
    if (await_state(s->shared, PRESENT) != RUNNING && change(s->shared, PRESENT, OVER))
        return;
    if (sync_load(&s->shared->state) == RUNNING) {
        s->cells = node.base + s->shared->cells;
        read_samples(s);
    }
}

void calibrate(void)
{
    if (!node.header || node.size < 2)
        return;
    const struct layout_member *me = node_member(node.me), *first = me, *last = me;
    for (uint32_t i = 0; i < node.size; i++) {
        const struct layout_member *other = node_member(i);
        first = other->world_rank < first->world_rank ? other : first;
        last = other->world_rank > last->world_rank ? other : last;
    }
    if (me != first && me != last)
        return;
    struct side side = {
        .shared = &node.header->calibration, .writer = first, .memory = malloc(SAMPLE)};
    if (!side.memory)
        return; /* the other rank gives up after patience_ns */
    if (me == first)
        write_all(&side);
    else
        read_all(&side);
    free(side.memory);
}
