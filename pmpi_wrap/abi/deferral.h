/* Calls that this library does not complete: left to the host, or ended by an error. */
#ifndef MPIACCEL_DEFERRAL_H
#define MPIACCEL_DEFERRAL_H

#include "core/stats.h"
#include "pmpi_wrap/abi/host_api.h"

/* The result of a function that has counted the deferral and touched nothing: its caller, the
 * handler, calls the host. No error class of MPI is negative. */
enum { DEFERRED = -1 };

/* The end of a handler: the result of a function that may return DEFERRED or, if it does, the
 * result of the host's function. */
#define OR_HOST(result, by_host)                           \
    ({                                                     \
        int or_host = (result);                            \
        LIKELY(or_host != DEFERRED) ? or_host : (by_host); \
    })

/* Count a call that is left to the host. The first time, log the reason. */
void note_deferred(enum call call, enum reason reason);

/* Report an error through the error handler of a communicator, or, for a call that has no
 * communicator, window or file, through the one that MPI-4.0, 9.3 names. Both functions return the
 * class of the error. */
int report_on_comm(MPI_Comm comm, int error_class);
int report_on_process(int error_class);

/* There is no memory for an object that other ranks wait for: end the job. */
void abort_without_memory(const char *object) __attribute__((noreturn));

#endif
