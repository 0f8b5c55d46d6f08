/* The parts of which collectives across nodes consist: calls of the host on a lane, buffers for the
 * blocks of several ranks, and the end of a call.
 *
 * An error of the host on a lane is detected by the rank that has made the call. It publishes the
 * error class in the `host_error` of its team, with the number of the call (hierarchy.calls). Ranks
 * that receive data of this rank afterwards, or pass a barrier with it, read `host_error` when they
 * end the call, and report the same class through the program's error handler. The release with
 * which the data or the barrier are published orders the error before them. As under the hosts, a
 * rank that only sends does not report the errors of other ranks. If calls fail one after the
 * other, a slow rank may miss the earlier error, but not the last one.
 */
#ifndef MPIACCEL_LANE_CALL_H
#define MPIACCEL_LANE_CALL_H

#include "coll_inplace/coll.h"
#include "pmpi_wrap/abi/collectives/arguments.h"
#include "pmpi_wrap/abi/nodes/hierarchy.h"

#include <assert.h>
#include <limits.h>

static inline bool leads(const struct hierarchy *h)
{
    return h->node->rank == 0;
}

/* Whether data pass through leaders. */
static inline bool fits_leaders(size_t blocks, size_t bytes)
{
    return bytes <= HIERARCHY_ROOM && blocks * bytes <= HIERARCHY_ROOM;
}

/* Whether the host's counts, which are int, can express the data. Elements have at least a byte. */
static inline bool is_countable(size_t blocks, size_t bytes)
{
    size_t all;
    return !__builtin_mul_overflow(blocks, bytes, &all) && all <= INT_MAX;
}

static inline int leave(enum call call)
{
    return defer_call(call, REASON_NODES_CALL);
}

/* ---- the host ---- */

static inline int error_class_of(int result)
{
    int class;
    return host.Error_class(result, &class) ? MPI_ERR_OTHER : class;
}

/* Note the result of a call on a lane. */
static COLD void note_host_error(struct hierarchy *h, int result)
{
    h->result = result;
    if (h->node->common)
        atomic_store(&h->node->common->host_error,
                     (uint64_t)h->calls << 32 | (uint32_t)error_class_of(result));
}

/* A call of the host on a lane, which calls nothing of this library (H4). */
#define ON_LANE(h, call)                   \
    do {                                   \
        enter_host();                      \
        int result_ = (call);              \
        leave_host();                      \
        if (UNLIKELY(result_))             \
            note_host_error((h), result_); \
    } while (0)

/* The class of an error on a lane in this call; MPI_SUCCESS: none that this rank has to report. */
static inline int host_error_of(const struct hierarchy *h)
{
    if (UNLIKELY(h->result != MPI_SUCCESS))
        return error_class_of(h->result);
    uint64_t error = h->node->common
                         ? atomic_load_explicit(&h->node->common->host_error, memory_order_relaxed)
                         : 0;
    return UNLIKELY(error != 0) && error >> 32 == h->calls ? (int)(uint32_t)error : MPI_SUCCESS;
}

/* ---- the call ---- */

/* Begin a call that is fast. */
static inline void begin_call(struct hierarchy *h)
{
    h->calls++;
    h->result = MPI_SUCCESS;
}

static inline int end_call(const struct hierarchy *h, enum call call, MPI_Comm comm,
                           enum coll_error error, size_t bytes)
{
    int class = host_error_of(h);
    assert(!(error & COLL_LEFT)); /* the other nodes would not leave the call to the host */
    stats_count(&stats_own.records[call].between_nodes, 1);
    if (LIKELY(class == MPI_SUCCESS))
        return finish_call(call, comm, error, bytes);
    thread_count(thread_self(), call, bytes);
    return report_on_comm(comm, class);
}

/* ---- buffers ---- */

/* Bytes as a buffer; the rest is storage for its typemap. */
struct bytes {
    struct run run;
    struct typemap map;
};

static inline struct buffer as_bytes(struct bytes *storage, char *at, size_t bytes)
{
    storage->map = typemap_of_bytes(&storage->run, bytes);
    return (struct buffer){at, &storage->map, 1};
}

/* Adjacent blocks of `bytes` bytes each. */
static inline struct blocks as_blocks(struct bytes *storage, char *at, size_t bytes)
{
    struct buffer first = as_bytes(storage, at, bytes);
    return (struct blocks){.at = at, .map = first.map, .count = 1};
}

#endif
