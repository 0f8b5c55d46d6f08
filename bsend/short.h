/* Short messages, of a host whose MPI_Isend and MPI_Test take less time than its MPI_Bsend. MPICH's
 * looks for messages that have left, for room, and for progress each time, though a short message
 * has left when its MPI_Isend returns, nearly always.
 *
 * There is one slot for the copy of one message. If that has not left at once, its receiver not
 * having taken those before it, it stays in the slot, and the next ones are the host's, until it
 * has. So nobody waits, and the program's buffer has its room as before: the slot is more.
 *
 * Only to whom the host has let a message pass (peers.h).
 *
 * One thread at a time: with MPI_THREAD_MULTIPLE all are the host's. A function of the program that
 * the host calls back meanwhile finds the slot taken.
 */
#ifndef MPIACCEL_SHORT_H
#define MPIACCEL_SHORT_H

#include "bsend/peers.h"

#include <string.h>

enum {
    SHORT_MAX = 2048,      /* bytes; more gain nothing or little, and lose at times (HACKING.md) */
    SHORT_TAG_MAX = 32767, /* which every host lets pass (MPI-4.0, 9.1.2) */
};

enum short_state { SHORT_FREE, SHORT_BUSY, SHORT_FLYING };

struct short_sends {
    size_t limit; /* bytes of the longest one; 0: none is sent so */
    enum short_state state;
    uint32_t passed; /* messages that found the slot taken */
    uintptr_t request;
    _Alignas(LINE) char copy[SHORT_MAX];
};
extern struct short_sends short_sends;

/* Has the host sent it? Must not wait, and may change the request. */
typedef bool short_sent_fn(uintptr_t *request);

/* A buffer of so many bytes has been attached. */
void short_open(size_t bytes, short_sent_fn *sent);

/* None is sent so any more. */
void short_close(void);

/* Until the last one has left, with progress of the host. */
void short_drain(void);

/* Every so many messages that find the slot taken. */
void short_look(void);

/* An empty one does not: there is nothing to copy. */
HOT_INLINE bool short_fits(size_t bytes)
{
    return bytes - 1 < short_sends.limit;
}

/* The copy of a message that fits, for the caller to send; then it says short_sent(). NULL: it is
 * the host's. */
HOT_INLINE char *short_claim(const void *from, size_t bytes, uintptr_t comm, int rank, int tag)
{
    struct short_sends *s = &short_sends;
    if (!peers_know(comm, rank) || (unsigned)tag > SHORT_TAG_MAX)
        return NULL;
    if (UNLIKELY(s->state != SHORT_FREE)) {
        short_look();
        if (s->state != SHORT_FREE)
            return NULL;
    }
    s->state = SHORT_BUSY;
    memcpy(s->copy, from, bytes);
    return s->copy;
}

/* What has become of it: its request, or whether it has left. */
static inline void short_sent(uintptr_t request, bool left)
{
    short_sends.request = request;
    short_sends.state = left ? SHORT_FREE : SHORT_FLYING;
}

#endif
