#include "core/stats.h"

#include <stddef.h>
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

struct stats_snapshot stats_own;
static struct {
    uint64_t ticks[2], waited[2]; /* in deferred and in fast calls */
} times[STATS_CALLS_MAX];

/* Ranks read a snapshot while its owner writes it anew: each number is read and written whole. */
static void store(uint64_t *number, uint64_t value)
{
    atomic_store_explicit((_Atomic uint64_t *)number, value, memory_order_relaxed);
}

static uint64_t load(const uint64_t *counter)
{
    return atomic_load((const _Atomic uint64_t *)counter);
}

uint64_t stats_defer(unsigned call, enum reason reason)
{
    return stats_count(&stats_own.deferred[call][reason], 1);
}

void stats_sizes(unsigned call, uint64_t calls, uint64_t bytes)
{
    uint64_t size = bytes / calls;
    unsigned class = size ? 64 - (unsigned)__builtin_clzl(size) : 0;
    stats_count(&stats_own.sizes[call][class < STATS_SIZES ? class : STATS_SIZES - 1], calls);
}

void stats_time(unsigned call, bool is_fast, uint64_t ticks, uint64_t waited)
{
    stats_count(&stats_own.records[call].calls, 1);
    stats_count(&times[call].ticks[is_fast], ticks);
    stats_count(&times[call].waited[is_fast], waited);
}

/* Count atomically even without concurrent threads: the result decides whether a reason is
 * logged. */
static uint64_t count_atomically(uint64_t *counter, uint64_t by)
{
    return atomic_fetch_add_explicit((_Atomic uint64_t *)counter, by, memory_order_relaxed) + by;
}

uint64_t stats_window(bool is_fast, enum reason reason)
{
    return count_atomically(is_fast ? &stats_own.windows_fast : &stats_own.windows_deferred[reason],
                            1);
}

void stats_fold(struct stats_counts *counts)
{
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++) {
        count_atomically(&stats_own.counts.fast[c], counts->fast[c]);
        count_atomically(&stats_own.counts.bytes[c], counts->bytes[c]);
    }
    memset(counts, 0, sizeof *counts);
}

/* More waiting may have been counted for a call than the call took: waits inside the host are
 * estimated from samples, and other threads wait, too. */
static void take_times(struct stats_record *record, unsigned call)
{
    uint64_t ticks[2], waited[2];
    for (int is_fast = 0; is_fast < 2; is_fast++) {
        ticks[is_fast] = load(&times[call].ticks[is_fast]);
        waited[is_fast] = min_size(load(&times[call].waited[is_fast]), ticks[is_fast]);
    }
    record->fast_ns = sync_ns_of_ticks(ticks[1] - waited[1]);
    record->host_ns = sync_ns_of_ticks(ticks[0] - waited[0]);
    record->waited_ns = sync_ns_of_ticks(waited[0] + waited[1]);
}

/* The numbers of a snapshot: its fields from `elapsed` up to `heap`. */
static uint64_t *numbers_of(const struct stats_snapshot *s, size_t *count)
{
    *count = (offsetof(struct stats_snapshot, heap) - offsetof(struct stats_snapshot, elapsed)) /
             sizeof(uint64_t);
    return (uint64_t *)&s->elapsed;
}

/* Counters that are zero are not stored: the snapshot is zero at first, and its pages take memory
 * only when they are written. */
void stats_take(struct stats_snapshot *s)
{
    size_t count;
    uint64_t value, *to = numbers_of(s, &count);
    const uint64_t *from = numbers_of(&stats_own, &count);
    for (size_t i = 0; i < count; i++)
        if ((value = load(&from[i])))
            store(&to[i], value);
    s->ranks = 1;
    s->elapsed = sync_elapsed_ns();
    for (unsigned c = 0; c < STATS_CALLS_MAX; c++)
        if (s->records[c].calls)
            take_times(&s->records[c], c);
    s->polling_ns = sync_waited_ns(WAITED_POLLING);
    s->yielding_ns = sync_waited_ns(WAITED_YIELDING);
    s->sleeping_ns = sync_waited_ns(WAITED_SLEEPING);
}

void stats_add(struct stats_snapshot *sum, const struct stats_snapshot *more)
{
    size_t count;
    uint64_t *to = numbers_of(sum, &count);
    const uint64_t *from = numbers_of(more, &count);
    for (size_t i = 0; i < count; i++)
        to[i] += load(&from[i]);
    sum->ranks += more->ranks;
    timeline_add(&sum->heap, &more->heap);
}

struct stats_record stats_record_sum(const struct stats_snapshot *sum, const char *const calls[])
{
    struct stats_record all = {0};
    for (unsigned c = 0; calls[c]; c++) {
#define STAT_OF_CALL(member, object, key, shown_if, meaning) all.member += sum->records[c].member;
#include "core/statistics.def"
    }
    return all;
}

uint64_t stats_record_ns(const struct stats_record *record)
{
    return record->fast_ns + record->host_ns + record->waited_ns;
}

uint64_t stats_total(const uint64_t by_reason[REASON_COUNT])
{
    uint64_t sum = 0;
    for (unsigned r = REASON_NONE + 1; r < REASON_COUNT; r++)
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
