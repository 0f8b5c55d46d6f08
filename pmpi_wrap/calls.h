/* The intercepted calls by number, and the doors through which they go. */
#ifndef MPIACCEL_CALLS_H
#define MPIACCEL_CALLS_H

#include "core/base.h"

enum call {
#define CALL(name, arguments)   CALL_##name,
#define CALL4(name, arguments)  CALL_##name,
#define CALL41(name, arguments) CALL_##name,
#define HOST(name, arguments)   CALL_##name,
#include "pmpi_wrap/calls.def"
#undef CALL
#undef CALL4
#undef CALL41
#undef HOST
    CALL_COUNT
};

/* "MPI_Put", …, ended by NULL. */
extern const char *const call_names[CALL_COUNT + 1];

typedef void dispatch_fn(void);

/* Where MPI_X and PMPI_X lead. Until the first call of any: to dispatch_open(). */
extern dispatch_fn *dispatch_mpi[CALL_COUNT], *dispatch_pmpi[CALL_COUNT];

/* The same of calls that are only counted; NULL for others. And where those go on to: the host. */
extern dispatch_fn *const dispatch_counted[CALL_COUNT];
extern dispatch_fn *dispatch_onward[CALL_COUNT];

/* Find the host and set all doors, once a process. */
void dispatch_open(void);

#endif
