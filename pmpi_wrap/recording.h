/* Statistics that are too expensive to be kept always: the sizes of calls, the bytes between two
 * ranks, and the use of the shared heap over time. They are recorded if MPIACCEL_STATS is set.
 *
 * The dispatch tables then point to functions of entry.c, which call each handler between
 * recording_begin() and recording_end(). These derive from the thread's counters (core/thread.h)
 * what the handler did. Otherwise the tables point to the handlers, and nothing here is called.
 */
#ifndef MPIACCEL_RECORDING_H
#define MPIACCEL_RECORDING_H

#include "core/stats.h"
#include "pmpi_wrap/calls.h"

/* The counters of this thread for one call, or by how much they have changed. */
struct recording {
    uint64_t fast, bytes;
};

struct recording recording_begin(enum call call);

/* Record the sizes and the heap. Returns what the call added to the counters. */
struct recording recording_end(enum call call, struct recording before);

/* This rank has accessed memory of a member of the node, or has sent it a buffered message. Does
 * nothing if `member` is negative. */
void recording_traffic(int member, size_t bytes);

/* Add what has been recorded to this process's snapshot. */
void recording_publish(struct stats_snapshot *snapshot);

/* The bytes that `recording_traffic` counted on the member `from` for `to`, from the snapshot that
 * it has published. */
uint64_t recording_bytes(uint32_t from, uint32_t to);

#endif
