/* Persistent buffered sends (MPI-4.0, 3.9).
 *
 * MPI_Start of such a request does what MPI_Bsend does, and the request is complete at once. Where
 * the host's own requests do not work (QUIRK_BSEND_INIT_SENDS_OLD_DATA, _BSEND_WAITS, and for long
 * messages _BSEND_COMPLETES_LATE), the program gets a stand-in: a persistent request of the host's
 * that sends no data, which all calls on requests accept (H23: the program passes requests to the
 * host). This library remembers the message, and sends it when the stand-in is started.
 *
 * The request that the host made from the program's arguments is kept too: making it has checked
 * the arguments, and it is started instead if the program has freed the communicator meanwhile.
 */
#ifndef MPIACCEL_PERSISTENT_H
#define MPIACCEL_PERSISTENT_H

#include "pmpi_wrap/abi/buffered_sends/message.h"
#include "pmpi_wrap/abi/host_api.h"
#include "pmpi_wrap/registry.h"

struct persistent {
    struct message message; /* its datatype is a copy: the program may free its own */
    MPI_Request by_host;
    MPI_Comm stand_in_comm; /* private_comm() when the stand-in was created */
    bool comm_freed;
    bool unsent;                     /* the stand-in has been started, but not yet the message */
    struct persistent *next, **link; /* in the list of all stand-ins */
};

/* Objects are struct persistent. */
extern struct registry persistent_registry HIDDEN;

/* The number of stand-ins. Programs that have none pay one load per call. */
extern _Atomic uint32_t persistent_count;

HOT_INLINE bool persistent_exist(void)
{
    return UNLIKELY(atomic_load_explicit(&persistent_count, memory_order_relaxed));
}

/* Returns what is remembered about a stand-in. NULL: the request is no stand-in. */
static inline struct persistent *persistent_find(const MPI_Request *request)
{
    struct entry *e =
        persistent_exist() && request ? registry_find(&persistent_registry, BITS(*request)) : NULL;
    return e ? e->object : NULL;
}

/* Call after the host's MPI_Bsend_init, with the host's result, which is returned. May replace the
 * request. */
int persistent_created(enum call call, const struct message *m, MPI_Request *request, int result);

int persistent_start(enum call call, struct persistent *p, MPI_Request *request);

/* Call before the host frees the stand-in. */
void persistent_free(struct persistent *p, const MPI_Request *request);

/* Call after the host has made a request. If a stand-in has the same handle, it has been freed past
 * this library (free_notice.h). */
void persistent_forget_stale(const MPI_Request *created);

/* Call before the host frees or disconnects a communicator: this library can no longer start the
 * persistent requests on it. Does not wait for messages: MPI_Comm_disconnect of the host does that
 * (MPI-4.0, 11.10.4). */
void persistent_forget_comm(const MPI_Comm *comm);

/* Call when the host has been finalized, and its handles are invalid. */
void persistent_forget_all(void);

#endif
