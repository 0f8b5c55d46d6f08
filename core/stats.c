#include "core/stats.h"

#include "core/concurrency.h"

#include <string.h>

const char *const stats_reasons[REASON_COUNT] = {
#define REASON(name, text, cause, advice) [REASON_##name] = text,
#include "core/reasons.def"
#undef REASON
};

const char *const stats_advice[REASON_COUNT] = {
#define REASON(name, text, cause, advice) [REASON_##name] = advice,
#include "core/reasons.def"
#undef REASON
};

static _Atomic uint64_t fast[STATS_CALLS_MAX], bytes[STATS_CALLS_MAX];
static _Atomic uint64_t deferred[STATS_CALLS_MAX][REASON_COUNT];
static _Atomic uint64_t sizes[STATS_CALLS_MAX][STATS_SIZES];
static struct {
    _Atomic uint64_t calls, host_bytes, long_bytes, private_bytes;
    _Atomic uint64_t ticks[2], waited[2]; /* of deferred and of fast calls */
} records[STATS_CALLS_MAX];
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

void stats_time(unsigned call, bool is_fast, uint64_t ticks, uint64_t waited)
{
    counter_add(&records[call].calls, 1);
    counter_add(&records[call].ticks[is_fast], ticks);
    counter_add(&records[call].waited[is_fast], waited);
}

void stats_host_data(unsigned call, uint64_t count)
{
    counter_add(&records[call].host_bytes, count);
    stats_sizes(call, 1, count);
}

void stats_long_message(unsigned call, uint64_t count, bool is_private)
{
    counter_add(&records[call].long_bytes, count);
    if (is_private)
        counter_add(&records[call].private_bytes, count);
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

/* Of one call, more waiting may have been counted than it took: waits inside the host are estimated
 * from samples, and other threads wait, too. */
static struct stats_record take_record(unsigned call)
{
    uint64_t ticks[2], waited[2];
    for (int is_fast = 0; is_fast < 2; is_fast++) {
        ticks[is_fast] = atomic_load(&records[call].ticks[is_fast]);
        waited[is_fast] = min_size(atomic_load(&records[call].waited[is_fast]), ticks[is_fast]);
    }
    return (struct stats_record){
        .calls = atomic_load(&records[call].calls),
        .fast_ns = sync_ns_of_ticks(ticks[1] - waited[1]),
        .host_ns = sync_ns_of_ticks(ticks[0] - waited[0]),
        .waited_ns = sync_ns_of_ticks(waited[0] + waited[1]),
        .host_bytes = atomic_load(&records[call].host_bytes),
        .long_bytes = atomic_load(&records[call].long_bytes),
        .private_bytes = atomic_load(&records[call].private_bytes),
    };
}

/* Counters that are zero are not stored: the snapshot is zero at first, and its pages take memory
 * only when they are written. */
static void take_details(struct stats_snapshot *s, unsigned call)
{
    uint64_t value;
    for (unsigned r = 0; r < REASON_COUNT; r++)
        if ((value = atomic_load(&deferred[call][r])))
            s->deferred[call][r] = value;
    for (unsigned k = 0; k < STATS_SIZES; k++)
        if ((value = atomic_load(&sizes[call][k])))
            s->sizes[call][k] = value;
    if (atomic_load(&records[call].calls))
        s->records[call] = take_record(call);
}

void stats_take(struct stats_snapshot *s)
{
    s->ranks = 1;
    s->elapsed = sync_elapsed_ns();
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        s->counts.fast[c] = atomic_load(&fast[c]);
        s->counts.bytes[c] = atomic_load(&bytes[c]);
        take_details(s, c);
    }
    s->windows_fast = atomic_load(&windows_fast);
    for (unsigned r = 0; r < REASON_COUNT; r++)
        s->windows_deferred[r] = atomic_load(&windows_deferred[r]);
    s->host_copies = atomic_load(&host_copies);
    s->host_copied = atomic_load(&host_copied);
    for (unsigned kind = 0; kind < WAIT_KINDS; kind++)
        s->waited[kind] = sync_waited_ns(kind);
}

static void add_record(struct stats_record *sum, const struct stats_record *more)
{
    sum->calls += more->calls;
    sum->fast_ns += more->fast_ns;
    sum->host_ns += more->host_ns;
    sum->waited_ns += more->waited_ns;
    sum->host_bytes += more->host_bytes;
    sum->long_bytes += more->long_bytes;
    sum->private_bytes += more->private_bytes;
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
        add_record(&sum->records[c], &more->records[c]);
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

struct stats_record stats_record_sum(const struct stats_snapshot *sum, const char *const calls[])
{
    struct stats_record all = {0};
    for (unsigned c = 0; calls[c]; c++)
        add_record(&all, &sum->records[c]);
    return all;
}

uint64_t stats_record_ns(const struct stats_record *record)
{
    return record->fast_ns + record->host_ns + record->waited_ns;
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
