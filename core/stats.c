#include "core/stats.h"

#include "core/concurrency.h"

#include <string.h>

const char *const stats_reasons[REASON_COUNT] = {
#define REASON(name, text, advice) [REASON_##name] = text,
#include "core/reasons.def"
#undef REASON
};

const char *const stats_advice[REASON_COUNT] = {
#define REASON(name, text, advice) [REASON_##name] = advice,
#include "core/reasons.def"
#undef REASON
};

static _Atomic uint64_t fast[STATS_CALLS_MAX], bytes[STATS_CALLS_MAX];
static _Atomic uint64_t deferred[STATS_CALLS_MAX][REASON_COUNT];
static _Atomic uint64_t sizes[STATS_CALLS_MAX][STATS_SIZES];
static _Atomic uint64_t windows_fast, windows_deferred[REASON_COUNT];
static _Atomic uint64_t host_copies, host_copied;

uint64_t stats_defer(unsigned call, enum reason reason)
{
    return counter_add(&deferred[call][reason], 1);
}

void stats_sizes(unsigned call, uint64_t count, uint64_t total)
{
    uint64_t size = total / count;
    unsigned class = size ? 64 - (unsigned)__builtin_clzl(size) : 0;
    counter_add(&sizes[call][class < STATS_SIZES ? class : STATS_SIZES - 1], count);
}

uint64_t stats_window(bool is_fast, enum reason reason)
{
    return atomic_fetch_add_explicit(is_fast ? &windows_fast : &windows_deferred[reason], 1,
                                     memory_order_relaxed) +
           1;
}

void stats_host_copy(size_t count)
{
    counter_add(&host_copies, 1);
    counter_add(&host_copied, count);
}

void stats_fold(struct stats_counts *counts)
{
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        atomic_fetch_add_explicit(&fast[c], counts->fast[c], memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes[c], counts->bytes[c], memory_order_relaxed);
    }
    memset(counts, 0, sizeof *counts);
}

void stats_take(struct stats_snapshot *s)
{
    s->ranks = 1;
    s->elapsed = sync_elapsed_ns();
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        s->counts.fast[c] = atomic_load(&fast[c]);
        s->counts.bytes[c] = atomic_load(&bytes[c]);
        for (unsigned r = 0; r < REASON_COUNT; r++)
            s->deferred[c][r] = atomic_load(&deferred[c][r]);
        for (unsigned k = 0; k < STATS_SIZES; k++)
            s->sizes[c][k] = atomic_load(&sizes[c][k]);
    }
    s->windows_fast = atomic_load(&windows_fast);
    for (unsigned r = 0; r < REASON_COUNT; r++)
        s->windows_deferred[r] = atomic_load(&windows_deferred[r]);
    s->host_copies = atomic_load(&host_copies);
    s->host_copied = atomic_load(&host_copied);
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        s->waited[kind] = sync_waited_ns(kind);
}

void stats_add(struct stats_snapshot *sum, const struct stats_snapshot *more)
{
    sum->ranks += more->ranks;
    sum->elapsed += more->elapsed;
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        sum->counts.fast[c] += more->counts.fast[c];
        sum->counts.bytes[c] += more->counts.bytes[c];
        for (unsigned r = 0; r < REASON_COUNT; r++)
            sum->deferred[c][r] += more->deferred[c][r];
        for (unsigned k = 0; k < STATS_SIZES; k++)
            sum->sizes[c][k] += more->sizes[c][k];
    }
    sum->windows_fast += more->windows_fast;
    for (unsigned r = 0; r < REASON_COUNT; r++)
        sum->windows_deferred[r] += more->windows_deferred[r];
    sum->host_copies += more->host_copies;
    sum->host_copied += more->host_copied;
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        sum->waited[kind] += more->waited[kind];
    sum->heap_peak += more->heap_peak;
    sum->heap_live += more->heap_live;
    sum->heap_allocations += more->heap_allocations;
    timeline_add(&sum->heap, &more->heap);
}

uint64_t stats_total(const uint64_t by_reason[REASON_COUNT])
{
    uint64_t sum = 0;
    for (unsigned r = 0; r < REASON_COUNT; r++)
        sum += by_reason[r];
    return sum;
}

bool stats_occurs(const struct stats_snapshot *sum, unsigned reason, const char *const calls[])
{
    bool found = sum->windows_deferred[reason];
    for (unsigned c = 0; calls[c]; c++)
        found |= sum->deferred[c][reason] != 0;
    return found;
}
