/* Statistics that are too expensive to be kept always: the time in calls, the data of the calls
 * that are left to the host, the sizes of calls, the bytes between two ranks, and the use of the
 * shared heap over time. They are recorded if MPIACCEL_STATS is set.
 *
 * The dispatch tables then point to functions of entry.c, which call each handler, or the host,
 * between recording_begin() and recording_end(). These derive from the thread's counters
 * (core/thread.h) what the handler did. Otherwise the tables point to the handlers, and nothing
 * here is called.
 *
 * A host may make MPI calls within a call of the program: MPI-IO sends messages, for example. The
 * time and the data of such inner calls are not recorded, because they are part of the outer one.
 * A call is an inner one if its stack frame is below that of another recorded call. A counter of
 * calls would be wrong for good after an error handler has left a call with longjmp().
 */
#ifndef MPIACCEL_RECORDING_H
#define MPIACCEL_RECORDING_H

#include "core/stats.h"
#include "pmpi_wrap/calls.h"

/* One call. */
struct recording {
    enum call call;
    bool is_inner;
    uint64_t fast,
        bytes; /* the counters of this thread; after the call, by how much they changed */
    uint64_t start, waited; /* ticks */
};

struct recording recording_begin(enum call call);

/* Record the time, the sizes and the heap. */
void recording_end(struct recording *recording);

/* Count a call that the host has performed, and that nothing has counted as deferred. */
void recording_defer(const struct recording *recording, enum reason reason);

/* Record that the host has moved so many bytes in this call. */
void recording_host_data(const struct recording *recording, uint64_t bytes);

struct recorded_message {
    uint64_t bytes;
    bool is_eager;    /* the host sends it at once, because its limit has been raised */
    bool is_long;     /* a rank of this node copies it out of this rank's memory */
    bool is_private;  /* is_long, and the data are in private memory */
    bool is_unraised; /* is_long, and the host would send it at once if its limit had been raised */
};

/* Record that this call has sent or received a message. */
void recording_message(const struct recording *recording, struct recorded_message message);

/* Record that this call has made a persistent request for a message. `request`: the handle. */
void recording_request(const struct recording *recording, uintptr_t request,
                       struct recorded_message message);

/* Record that this call has started a persistent request. Returns false if recording_request() has
 * not recorded the request. */
bool recording_started(const struct recording *recording, uintptr_t request);

/* Forget a request that the program frees: the host may use its handle again. */
void recording_forget(uintptr_t request);

/* Record that this rank has accessed memory of a member of the node, or has sent it a buffered
 * message. Does nothing if `member` is negative. */
void recording_traffic(int member, size_t bytes);

/* Call `action` every so many nanoseconds, at the end of a recorded call, in one thread at a time.
 * Before the action, a thread that makes calls folds its counters into those of the process. */
void recording_repeat(void (*action)(void), uint64_t interval_ns);

/* Add what has been recorded to this process's snapshot. */
void recording_publish(struct stats_snapshot *snapshot);

/* Forget all requests: MPI ends, and their handles become invalid. */
void recording_close(void);

/* The bytes that `recording_traffic` counted on the member `from` for `to`, from the snapshot that
 * `from` has published. */
uint64_t recording_bytes(uint32_t from, uint32_t to);

#endif
