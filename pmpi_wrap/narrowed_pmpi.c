/* The second compilation of narrowed.c. */
#define NEXT(name)  PMPI_##name
#define NARROWED_OF narrowed_pmpi_of
#include "pmpi_wrap/narrowed.c" /* NOLINT(bugprone-suspicious-include) */
