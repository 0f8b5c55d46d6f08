/* The second compilation of narrowed_arrays.c. */
#define NEXT(name)         PMPI_##name
#define NARROWED_ARRAYS_OF narrowed_arrays_pmpi_of
#include "pmpi_wrap/abi/narrowed_arrays.c" /* NOLINT(bugprone-suspicious-include) */
