/* Buffered sends: what other files of this folder need of them. */
#ifndef MPIACCEL_ABI_BSEND_H
#define MPIACCEL_ABI_BSEND_H

#include "pmpi_wrap/abi/abi.h"

struct message {
    const void *from;
    MPI_Count count;
    MPI_Datatype type;
    int rank, tag;
    MPI_Comm comm;
};

/* Start a buffered send that must not wait, as MPI_Bsend may (bsend/pending.h); the count is an
 * int. */
int bsend_start(enum call call, const struct message *m);

/* Before the host frees or disconnects a communicator: the persistent requests on it can no longer
 * be started by us (persistent.c). Waiting for messages is the host's affair (MPI-4.0, 11.10.4). */
void persistent_forget(const MPI_Comm *comm);

/* At MPI_Finalize, before the host's: all that was sent is delivered, as the host need not wait for
 * requests that nobody has completed. A buffer that is attached later, by a function that the host
 * calls back, is the host's. */
void bsend_finish(void);

/* ---- between bsend.c and buffer.c ---- */

/* The process's buffer of so many bytes has been attached to the host. `fast`: copies of messages
 * may lie in the shared heap. False: bsend_stop() has been called. */
bool bsend_open(uint64_t bytes, bool fast);

/* It has been detached, and all is delivered. Returns whether messages were fast. */
bool bsend_close(void);

/* All messages that begin from now on are the host's. */
void bsend_stop(void);

#endif
