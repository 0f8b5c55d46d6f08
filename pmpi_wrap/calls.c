#include "pmpi_wrap/calls.h"

#include "core/stats.h"

_Static_assert((int)CALL_COUNT <= (int)STATS_CALLS_MAX, "more calls than counters");

const char *const call_names[CALL_COUNT + 1] = {
#define CALL(name, arguments)             [CALL_##name] = "MPI_" #name,
#define CALL4                             CALL
#define CALL41                            CALL
#define SESSION                           CALL
#define HOST                              CALL
#define WAITING                           CALL
#define SEND(name, arguments, rank, comm) CALL(name, arguments)
#include "pmpi_wrap/calls.def"
};
