/* Differences between hosts that need different code: bugs, limits, and choices that the standard
 * leaves open.
 *
 * The table in quirks.c lists them by host and version. A host has the same quirks under its own
 * ABI and under the standard ABI. The table is evaluated once, when the first MPI call finds the
 * host, for the version of the host in this process: a library that was built against one release
 * may run on another.
 */
#ifndef MPIACCEL_QUIRKS_H
#define MPIACCEL_QUIRKS_H

#include "pmpi_wrap/calls.h"
#include "pmpi_wrap/host_identity.h"

enum quirk {
    /* Every reduction reports an error if operand and result are the same buffer, and MPI_Alltoall
     * if its two buffers are the same, unless a setting of the host prevents it. A host without the
     * quirk does so in MPI_Reduce only, and performs other reductions in place. */
    QUIRK_REFUSES_ALIASES,
    /* MPI_Comm_free does not call the delete functions of the communicator's attributes while a
     * request on it exists, but frees the communicator with the request. */
    QUIRK_REQUESTS_KEEP_ATTRIBUTES,
    /* MPI_Alltoallw does not look at the datatypes of blocks without elements. */
    QUIRK_IGNORES_TYPES_OF_EMPTY_BLOCKS,
    /* MPI_Start of a persistent buffered send does not send the current contents of the buffer. */
    QUIRK_BSEND_INIT_SENDS_OLD_DATA,
    /* MPI_Start of a persistent request to MPI_PROC_NULL leaves the request inactive. */
    QUIRK_PROC_NULL_NEVER_ACTIVE,
    /* MPI_Bsend refuses a message for want of room before it tests whether earlier messages have
     * left the buffer. */
    QUIRK_BSEND_REFUSES_EARLY,
    /* A long buffered message that was received may stay in the sender's buffer until the receiver
     * calls the host again. */
    QUIRK_BSEND_COMPLETES_LATE,
    /* MPI_Bsend may wait for the receiver (bsend/in_flight.h). */
    QUIRK_BSEND_WAITS,
    /* MPI_Reduce_local crashes in a process that has not called MPI_Init. */
    QUIRK_REDUCE_LOCAL_NEEDS_INIT,
    /* MPI_Finalize may hang if a rank makes progress before it closes its connections, while
     * another rank closes its own. */
    QUIRK_FINALIZE_HANGS,
    /* MPI_Accumulate and its relatives accept operations that MPI does not define for the datatype:
     * MPI_BYTE is reduced like MPI_SIGNED_CHAR; and with zero elements, or to MPI_PROC_NULL, any
     * predefined operation is accepted for any datatype. */
    QUIRK_ACCUMULATES_BYTES,
    /* MPI_Win_sync is an error unless a lock epoch is open. */
    QUIRK_SYNC_NEEDS_LOCK,
    /* Errors of calls without a communicator, window or file go to the handler of MPI_COMM_WORLD,
     * although the host implements MPI-4. */
    QUIRK_ERRORS_GO_TO_WORLD,
    /* A long MPI_Allreduce with a user-defined commutative operation calls its function for some of
     * the elements at a time. */
    QUIRK_DIVIDES_OPERANDS,
    /* Value: bytes beyond which MPI_Reduce with a user-defined operation is left to the host, which
     * does it with fewer copies. */
    QUIRK_REDUCE_USER_BYTES,
    /* Value: bytes of all ranks together beyond which MPI_Allgatherv divides blocks into small
     * messages. */
    QUIRK_ALLGATHERV_BYTES,
    /* Value: bytes up to which MPI_Bcast sends to every node once. */
    QUIRK_BCAST_BY_NODE,
    /* Value: the number of MPI_Isend calls that this library may have in progress at a time. */
    QUIRK_ISEND_LIMIT,
    /* Value: bytes of the longest message that the receiver does not read out of the sender's
     * memory. Every host has a row. */
    QUIRK_EAGER_BYTES,
    QUIRK_COUNT
};

/* By enum quirk: 0 if the host does not have it, 1 if it does, or its value. */
extern uint32_t quirks[QUIRK_COUNT] HIDDEN;

static inline uint32_t quirk(enum quirk quirk)
{
    return quirks[quirk];
}

/* ---- the table ---- */

#define VERSION(major, minor, patch) ((uint32_t)(major) << 16 | (minor) << 8 | (patch))
#define VERSION_FIRST                0
#define VERSION_LAST                 UINT32_MAX

struct quirk_row {
    enum quirk quirk;
    uint32_t value; /* 0 stands for 1 */
    enum host_family family;
    const char *host;     /* host_identity.name; NULL: every host of the family */
    uint32_t first, last; /* versions, both included */
    const char *reason;
    const char *issue; /* of the host's project; NULL: none known */
};

/* Fill `values` from the rows that match. */
void quirks_look_up(const struct quirk_row *rows, size_t count, enum host_family family,
                    const char *host, uint32_t version, uint32_t values[QUIRK_COUNT]);

/* "4.1.4", "6.0.0rc2", "2021.10" as VERSION(); missing numbers are 0. */
uint32_t quirks_version(const char *text);

/* Set `quirks` for a host. */
void quirks_open(enum host_family family, const char *host, const char *version);

#endif
