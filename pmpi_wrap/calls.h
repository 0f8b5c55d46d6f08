/* The intercepted calls by number. */
#ifndef MPIACCEL_CALLS_H
#define MPIACCEL_CALLS_H

#include "core/base.h"

enum call {
#define CALL(name, arguments) CALL_##name,
#include "pmpi_wrap/calls.def"
    CALL_COUNT
};

/* Whether this is MPI_X, or MPI_X_c, which has large counts. */
#define IS_CALL(call, x) ((call) == CALL_##x || (call) == CALL_##x##_c)

/* "MPI_Put", ..., ended by NULL. */
extern const char *const call_names[CALL_COUNT + 1];

/* For variables of hot paths: the compiler addresses them directly, not through the global offset
 * table. (-fvisibility=hidden does so only in the file that defines them.) */
#define HIDDEN __attribute__((visibility("hidden")))

/* Any MPI function; cast to the right type before the call. */
typedef void mpi_fn(void);

#endif
