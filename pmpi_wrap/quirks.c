#include "pmpi_wrap/quirks.h"

#include <stdio.h>
#include <string.h>

uint32_t quirks[QUIRK_COUNT];

/* A range stays open where no release without the quirk is known. */
static const struct quirk_row rows[] = {
    {
        .quirk = QUIRK_REFUSES_ALIASES,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason = "MPICH checks for aliased buffers in reductions and MPI_Alltoall, Open MPI in "
                  "MPI_Reduce only",
    },
    {
        .quirk = QUIRK_REQUESTS_KEEP_ATTRIBUTES,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason = "MPICH calls delete functions when the last reference to a communicator goes "
                  "(seen in 4.0.2)",
    },
    {
        .quirk = QUIRK_IGNORES_TYPES_OF_EMPTY_BLOCKS,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason = "MPICH accepts MPI_DATATYPE_NULL there, which ParallelIO and ESMF use",
        .issue = "https://github.com/pmodels/mpich/issues/6323",
    },
    {
        .quirk = QUIRK_BSEND_INIT_SENDS_OLD_DATA,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION(5, 255, 255),
        .reason = "from the second start on, Open MPI sends what lies where the first message was "
                  "in the attached buffer; the fix is in 6.0, and was merged into the branches of "
                  "5.0 and 4.1 in 2026",
        .issue = "https://github.com/open-mpi/ompi/pull/12797",
    },
    {
        .quirk = QUIRK_PROC_NULL_NEVER_ACTIVE,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason = "MPICH's MPI_Start skips such a request (seen in 4.0.2)",
    },
    {
        .quirk = QUIRK_BSEND_REFUSES_EARLY,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION_LAST,
        .reason = "Open MPI makes progress only after it has refused a message (seen in 4.1.4)",
    },
    {
        .quirk = QUIRK_BSEND_COMPLETES_LATE,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason = "MPICH frees the room when the receiver's acknowledgement arrives, which the "
                  "receiver may send in a later call only (seen in 4.0.2)",
    },
    {
        .quirk = QUIRK_BSEND_WAITS,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION_LAST,
        .reason = "Open MPI's MPI_Bsend waits for a free fragment when 19 to 512 messages wait for "
                  "a receiver outside of MPI (seen in 4.1.4)",
    },
    {
        .quirk = QUIRK_ISEND_LIMIT,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION_LAST,
        .value = 64,
        .reason = "Open MPI has 512 fragments for messages to all ranks; when they are in use, "
                  "MPI_Send to any rank waits (seen in 4.1.4)",
    },
    {
        .quirk = QUIRK_REDUCE_LOCAL_NEEDS_INIT,
        .family = FAMILY_OPEN_MPI,
        .first = VERSION(5, 0, 0),
        .last = VERSION_LAST,
        .reason = "it uses functions of MPI_COMM_SELF, which a session does not set up",
    },
    {
        .quirk = QUIRK_FINALIZE_HANGS,
        .family = FAMILY_MPICH,
        .last = VERSION(4, 1, 255),
        .reason = "a rank that has closed its connections stops making progress, but over TCP "
                  "another rank may still wait for an acknowledgement from it (seen in 4.0.2 "
                  "with UCX 1.13, also without this library)",
        .issue = "https://github.com/pmodels/mpich/pull/6596",
    },
    {
        .quirk = QUIRK_ACCUMULATES_BYTES,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason = "MPICH checks the operation against the datatype in reductions only (seen in "
                  "4.0.2); mpi4py's tests accumulate zero elements of MPI_BYTE with MPI_SUM",
    },
    {
        .quirk = QUIRK_SYNC_NEEDS_LOCK,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .reason =
            "MPI-3.1, 11.5.4 allows MPI_Win_sync within passive target epochs only, and MPICH "
            "checks that (seen in 4.0.2)",
    },
    {
        .quirk = QUIRK_ERRORS_GO_TO_WORLD,
        .family = FAMILY_MPICH,
        .first = VERSION(4, 0, 0),
        .last = VERSION(4, 0, 255),
        .reason = "MPICH 4.0.2 still does what MPI-3.1 says; 4.2.1 calls the handler of "
                  "MPI_COMM_SELF",
    },
    {
        .quirk = QUIRK_DIVIDES_OPERANDS,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION_LAST,
        .reason =
            "Open MPI divides operands of 16 KiB or more between the ranks (seen in 4.1.4 with "
            "2 to 8 ranks), but not in MPI_Reduce; MPICH divides those of predefined "
            "operations only",
    },
    {
        .quirk = QUIRK_ALLGATHERV_BYTES,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .value = 512 << 10,
        .reason =
            "from MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE on, MPICH's MPI_Allgatherv sends 32 KiB at a "
            "time around a ring: between two nodes, blocks of 384 KiB took 1.5 times as long as "
            "with MPI_Allgather of all ranks (4.0.2, TCP)",
    },
    {
        .quirk = QUIRK_BCAST_BY_NODE,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .value = 12 << 10,
        .reason = "default of MPIR_CVAR_BCAST_SHORT_MSG_SIZE: up to this length, MPICH's MPI_Bcast "
                  "is made "
                  "of one between nodes and one inside each",
    },
    {
        .quirk = QUIRK_REDUCE_USER_BYTES,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION_LAST,
        .value = 256 << 10,
        .reason =
            "the root of Open MPI's MPI_Reduce copies each operand once and combines it into the "
            "result, which is faster than the library (4.1.4, 2 ranks)",
    },
    {
        .quirk = QUIRK_EAGER_BYTES,
        .family = FAMILY_OPEN_MPI,
        .last = VERSION_LAST,
        .value = 4 << 10,
        .reason = "default of Open MPI's btl_vader_eager_limit",
    },
    {
        .quirk = QUIRK_EAGER_BYTES,
        .family = FAMILY_MPICH,
        .last = VERSION_LAST,
        .value = 8 << 10,
        .reason = "the largest message that MPICH puts into a cell of shared memory, rounded down",
    },
};

static bool row_matches(const struct quirk_row *row, enum host_family family, const char *host,
                        uint32_t version)
{
    return row->family == family && (!row->host || !strcmp(row->host, host)) &&
           version >= row->first && version <= row->last;
}

void quirks_look_up(const struct quirk_row *table, size_t count, enum host_family family,
                    const char *host, uint32_t version, uint32_t values[QUIRK_COUNT])
{
    memset(values, 0, QUIRK_COUNT * sizeof *values);
    for (size_t i = 0; i < count; i++)
        if (row_matches(&table[i], family, host, version))
            values[table[i].quirk] = table[i].value ? table[i].value : 1;
}

static unsigned at_most(unsigned number, unsigned limit)
{
    return number < limit ? number : limit;
}

uint32_t quirks_version(const char *text)
{
    unsigned major = 0, minor = 0, patch = 0;
    sscanf(text, "%u.%u.%u", &major, &minor, &patch);
    return VERSION(at_most(major, UINT16_MAX), at_most(minor, UINT8_MAX),
                   at_most(patch, UINT8_MAX));
}

void quirks_open(enum host_family family, const char *host, const char *version)
{
    quirks_look_up(rows, sizeof rows / sizeof *rows, family, host, quirks_version(version), quirks);
}
