/* Statistics: which calls and windows were fast, which were deferred, and why.
 *
 * A thread counts its fast calls in plain memory of its own, which is folded into the counters of
 * the process when the thread ends. Deferred calls are slow anyway, so they are counted directly in
 * the counters of the process. At MPI_Finalize each rank writes a snapshot to shared memory, and
 * one rank of the node adds up the snapshots of its ranks.
 */
#ifndef MPIACCEL_STATS_H
#define MPIACCEL_STATS_H

#include "core/concurrency.h"
#include "core/processors.h"
#include "core/sync.h"
#include "core/timeline.h"

#include <stdatomic.h>
#include <stdio.h>

/* Why something is left to the host. REASON_NONE: it is not left to the host; functions return this
 * value if they have no reason to report. */
enum reason {
    REASON_NONE,
#define REASON(name, text, cause, advice) REASON_##name,
#include "core/reasons.def"
#undef REASON
    REASON_COUNT
};

/* By enum reason: why a call or a window was deferred, and what a user can do about it. */
extern const char *const stats_reasons[REASON_COUNT], *const stats_advice[REASON_COUNT];

/* Calls are counted by size in classes: class 0 is 0 bytes, class k is 2^(k-1) to 2^k - 1 bytes,
 * and the last one also has all larger sizes. */
enum { STATS_CALLS_MAX = 320, STATS_SIZES = 40 };

struct stats_counts {
    uint64_t fast[STATS_CALLS_MAX], bytes[STATS_CALLS_MAX];
};

/* The numbers of a kind of call. Most are recorded only with MPIACCEL_STATS, for each call that the
 * program makes (pmpi_wrap/recording.h). A call that the host makes on its own counts as part of
 * the call of the program. */
struct stats_record {
#define STAT_OF_CALL(member, object, key, shown_if, meaning) uint64_t member;
#include "core/statistics.def"
};

/* stats_take() copies the fields from `elapsed` up to `heap`, and stats_add() adds them up. */
struct stats_snapshot {
    _Atomic uint32_t complete; /* how often the other fields have been written */
    uint32_t ranks;
    uint64_t elapsed; /* nanoseconds since this process initialized MPI; see sync_elapsed_ns() */
    struct stats_counts counts;
    uint64_t deferred[STATS_CALLS_MAX][REASON_COUNT];
    /* The classes of size of fast calls, and of messages and file accesses of the host. */
    uint64_t sizes[STATS_CALLS_MAX][STATS_SIZES];
    struct stats_record records[STATS_CALLS_MAX];
    uint64_t windows_fast, windows_deferred[REASON_COUNT];
#define STAT(member, object, key, meaning) uint64_t member;
#include "core/statistics.def"
    struct timeline heap; /* bytes in use */
    uint64_t traffic;     /* position in the shared file of the bytes to each member; 0: none */
};

/* Count a deferred call. Returns how often this call was deferred for this reason. */
uint64_t stats_defer(unsigned call, enum reason reason);

/* The counters of this process, to which threads add concurrently by stats_count(). */
extern struct stats_snapshot stats_own;

static inline uint64_t stats_count(uint64_t *counter, uint64_t by)
{
    return counter_add((_Atomic uint64_t *)counter, by);
}

/* Count calls of the same size that have moved so many bytes together. */
void stats_sizes(unsigned call, uint64_t calls, uint64_t bytes);

/* Count a call of the program. `ticks`: its duration. `waited`: how long this process waited
 * meanwhile.
 */
void stats_time(unsigned call, bool fast, uint64_t ticks, uint64_t waited);

/* Count a window. Returns the number of fast windows, or of those deferred for this reason. */
uint64_t stats_window(bool fast, enum reason reason);

/* Add the counts of a thread to those of the process, and clear them. */
void stats_fold(struct stats_counts *counts);

/* Fill a snapshot of this process, except the fields on the heap and on traffic. Sets `ranks` to 1.
 */
void stats_take(struct stats_snapshot *snapshot);

/* Add all but `traffic`. */
void stats_add(struct stats_snapshot *sum, const struct stats_snapshot *more);

/* The sum of all records. */
struct stats_record stats_record_sum(const struct stats_snapshot *sum, const char *const calls[]);

/* The time in calls of a kind, waiting included. */
uint64_t stats_record_ns(const struct stats_record *record);

/* The number of calls that were deferred, for whatever reason. */
uint64_t stats_total(const uint64_t by_reason[REASON_COUNT]);

/* Whether any call or window was deferred for this reason. `calls`: the names of the calls by
 * number, terminated by NULL. */
bool stats_occurs(const struct stats_snapshot *sum, unsigned reason, const char *const calls[]);

struct stats_host {
    const char *name, *version, *abi;
    const char *device; /* the device of MPICH, such as "ch4:ucx"; empty: not known */
};

struct stats_identity {
    const char *command; /* the words, each ended by a zero; those that had no room are missing */
    size_t command_bytes;
    const char *id;      /* of the batch system, or else of the launcher */
    const char *started; /* as in ISO 8601, in UTC */
};

/* The length up to which the host sends messages at once because of this library, and why the limit
 * is not higher. */
struct stats_eager {
    uint64_t raised, wanted;      /* bytes; `raised` is 0: the host has its own limit */
    const char *why_not, *advice; /* NULL: the limit is raised as far as MPIACCEL_EAGER demands */
    const char *setting;          /* the one by which the user chose the limit; empty: none */
};

/* The job to which the sum belongs: it has `ranks` ranks, on this node and on others. */
struct stats_job {
    const char *node; /* the host name of the node whose ranks are in the sum */
    uint32_t ranks;
    uint32_t process;         /* the one that prints while the job runs; 0: the job has ended */
    struct shortage shortage; /* of processors, on this node */
    struct stats_eager eager; /* of the process that prints */
    const struct stats_identity *identity; /* NULL: not known */
    /* Traffic between the `members` ranks of this node. */
    uint32_t members;
    int (*world_rank)(uint32_t member);
    uint64_t (*bytes)(uint32_t from, uint32_t to);
};

/* `version`: of the library. `calls`: the names of the calls by number, terminated by NULL. */
void stats_print_text(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const struct stats_job *job,
                      const char *const calls[]);
void stats_print_json(FILE *out, const char *version, const struct stats_snapshot *sum,
                      const struct stats_host *host, const struct stats_job *job,
                      const char *const calls[]);

#endif
