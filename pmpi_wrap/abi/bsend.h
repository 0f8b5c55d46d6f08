/* Buffered sends: what other chapters must do about them. */
#ifndef MPIACCEL_ABI_BSEND_H
#define MPIACCEL_ABI_BSEND_H

#include "core/layout.h"
#include "pmpi_wrap/abi/abi.h"

/* Not one of MPI's constants that stand for one. */
static inline bool is_address(const void *at)
{
    return (uintptr_t)at + LAYOUT_PAGE > 2 * (uintptr_t)LAYOUT_PAGE;
}

struct message {
    const void *from;
    MPI_Count count;
    MPI_Datatype type;
    int rank, tag;
    MPI_Comm comm;
};

/* Send it buffered, fast or by the host; the count is an int. */
int bsend_message(enum call call, const struct message *m);

/* The same for a call that must not wait, as MPI_Bsend may (bsend/pending.h). */
int bsend_start(enum call call, const struct message *m);

/* The host has let a buffered message to this rank pass, or a request for one. */
void bsend_passed(MPI_Comm comm, int rank);

/* Before the host frees or disconnects a communicator. To wait for what is on its way is its own
 * affair, as for all messages (MPI-4.0, 11.10.4). */
void bsend_forget(const MPI_Comm *comm);

/* The persistent requests on it can no longer be started by us (persistent.c). */
void persistent_forget(MPI_Comm comm);

/* At MPI_Finalize, before the host's: all that was sent is delivered, as the host need not wait for
 * requests that nobody has completed. A buffer that is attached later, by a function that the host
 * calls back, is the host's. */
void bsend_finish(void);

/* ---- between bsend.c and buffer.c ---- */

/* A buffer of so many bytes has been attached to the host. */
void bsend_has_room(uint64_t bytes);

/* The program's buffer has so many bytes, though the host's is longer: what does not fit into the
 * program's is refused. */
void bsend_limit(uint64_t bytes);
#define BSEND_NO_LIMIT UINT64_MAX

/* And messages may be fast; false: none is, as bsend_stop() has been called. `only_one`: it is the
 * process's, and there is no other. */
bool bsend_open(uint64_t bytes, bool only_one);

/* The last one has been detached, and all is delivered. */
void bsend_close(void);

/* No message that begins now or later is fast. */
void bsend_stop(void);

/* The host has refused a message on this communicator. */
void bsend_refused(MPI_Comm comm);

/* ---- between buffer.c and longer.c ---- */

/* A buffer of twice the length, to attach in place of the program's; `most`: bytes that the host
 * can be told of. NULL: the program's own has to do. */
void *longer_take(void *buffer, MPI_Count size, MPI_Count most);

/* What the host has said of it. */
void longer_attached(void *longer, int result);

/* Communicators or sessions too have buffers, or had: what is too long only the host can tell. */
void longer_others_attached(void);

/* The host has given a buffer back: if it is a longer one, the program gets its own, whose length
 * is returned. */
MPI_Count longer_give_back(void **buffer, MPI_Count size);

#endif
