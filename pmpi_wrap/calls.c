#include "pmpi_wrap/calls.h"

#include "core/stats.h"

_Static_assert((int)CALL_COUNT <= (int)STATS_CALLS_MAX, "more calls than counters");

const char *const call_names[CALL_COUNT + 1] = {
#define CALL(name, arguments) [CALL_##name] = "MPI_" #name,
#include "pmpi_wrap/calls.def"
};
