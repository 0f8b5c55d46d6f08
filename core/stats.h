/* What was fast, what was deferred and why.
 *
 * Fast calls are counted by the thread that makes them, in plain memory of its own; deferred ones,
 * which are slow anyway, in counters of the process. A thread's counts are folded into the
 * process's when it ends. At Finalize every rank writes a snapshot where the others can read it.
 */
#ifndef MPIACCEL_STATS_H
#define MPIACCEL_STATS_H

#include "core/base.h"

#include <stdatomic.h>
#include <stdio.h>

enum reason {
#define REASON(name, text, advice) REASON_##name,
#include "core/reasons.def"
#undef REASON
    REASON_COUNT
};

/* Why, and what to do about it. */
extern const char *const stats_reasons[REASON_COUNT], *const stats_advice[REASON_COUNT];

enum { STATS_CALLS_MAX = 192 };

struct stats_counts {
    uint64_t fast[STATS_CALLS_MAX], bytes[STATS_CALLS_MAX];
};

struct stats_snapshot {
    _Atomic uint32_t complete; /* the rest may be read */
    uint32_t ranks;
    struct stats_counts counts;
    uint64_t deferred[STATS_CALLS_MAX][REASON_COUNT];
    uint64_t windows_fast, windows_deferred[REASON_COUNT];
    uint64_t host_copies, host_copied; /* see alloc/vm_copy.h; how many, and bytes */
    uint64_t heap_peak, heap_live, heap_allocations;
};

/* Returns how often this call was deferred for this reason. */
uint64_t stats_defer(unsigned call, enum reason reason);
/* Returns how many windows were fast, or were deferred for this reason. */
uint64_t stats_window(bool fast, enum reason reason);

/* A copy of the host's from process to process that did not need the kernel. */
void stats_host_copy(size_t bytes);

/* Add what an ended thread, or a living one at Finalize, has counted. */
void stats_fold(struct stats_counts *counts);

/* Everything of this process but the heap's numbers. Sets `ranks` to 1. */
void stats_take(struct stats_snapshot *snapshot);
void stats_add(struct stats_snapshot *sum, const struct stats_snapshot *more);

struct stats_host {
    const char *name, *version, *abi;
};

/* `version`: of the library; `calls`: the names, by number, ended by NULL. */
void stats_print_text(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const char *const calls[]);
void stats_print_json(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const char *const calls[]);

#endif
