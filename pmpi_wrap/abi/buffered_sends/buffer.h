/* The buffer that the program has attached for buffered sends (MPI-4.0, 3.6), and how messages are
 * sent while it is attached. It is attached to the host too. */
#ifndef MPIACCEL_BUFFER_H
#define MPIACCEL_BUFFER_H

#include "core/stats.h"
#include "pmpi_wrap/abi/host_api.h"

/* Set when a buffer is attached or detached. */
extern struct attached_buffer {
    _Atomic size_t copied_from; /* longer messages are sent out of a copy */
    _Atomic bool guarded;       /* MPI_Ibsend instead of MPI_Bsend, which may wait for receivers */
    _Atomic bool is_fast;       /* MPIACCEL_BSEND is on */

    /* Bytes of the buffer, and an upper bound of those in use: what the host has been given since
     * it last made progress. Only with QUIRK_BSEND_REFUSES_EARLY. */
    _Atomic uint64_t room, given;

    int max_tag, world_size;      /* what the host accepts */
    bool nontemporal;             /* copies are written with non-temporal stores */
    MPI_Request complete_at_once; /* the host's request of a message that is already complete */
} attached_buffer HIDDEN;

/* Call after the host has attached or detached a buffer, with the host's result, which is
 * returned. */
int buffer_attached(enum call call, const void *buffer, MPI_Count size, int result);
int buffer_detached(enum call call, int result);

/* Let the host send all messages from now on. */
void buffer_leave_to_host(enum call call);

/* Deliver all messages, because the host need not wait for requests that the program has not
 * created. Call before the host is finalized, or in the last delete function of an attribute of
 * MPI_COMM_SELF. A buffer that a callback of the host attaches later is left to the host. */
void buffer_finish(void);

/* Call when the host is initialized again. */
void buffer_reopen(void);

#endif
