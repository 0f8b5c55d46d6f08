/* The calls with large counts, MPI_Put_c and so on: the second compilation of the files that
 * implement calls with counts. See count.h. */
#include "pmpi_wrap/abi/host_api.h"

#define LARGE_COUNT
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "pmpi_wrap/abi/buffered_sends/calls.c"
#include "pmpi_wrap/abi/collectives/calls.c"
#include "pmpi_wrap/abi/windows/create_free.c"
#include "pmpi_wrap/abi/windows/put_get_accumulate.c"
#include "pmpi_wrap/abi/windows/shared_query.c"
/* NOLINTEND(bugprone-suspicious-include) */
