/* Short messages, of a host whose MPI_Isend and MPI_Test take less time than its MPI_Bsend. MPICH's
 * looks for messages that have left, for room, and for progress each time, though a short message
 * has left when its MPI_Isend returns, nearly always.
 *
 * There is one slot for the copy of one message. If that has not left at once, its receiver not
 * having taken those before it, it stays in the slot, and the next ones are the host's, until it
 * has. So nobody waits, and the program's buffer has its room as before: the slot is more.
 *
 * Only what the host has let pass once by MPI_Bsend goes so, by communicator and rank: it judges
 * all arguments that are wrong, and what it says names the call that the program made.
 *
 * One thread at a time: with MPI_THREAD_MULTIPLE all are the host's. A function of the program that
 * the host calls back meanwhile finds the slot taken.
 */
#ifndef MPIACCEL_SHORT_H
#define MPIACCEL_SHORT_H

#include "core/base.h"

#include <string.h>

enum {
    SHORT_MAX = 4096,      /* bytes */
    SHORT_TAG_MAX = 32767, /* which every host lets pass (MPI-4.0, 9.1.2) */
    SHORT_PEERS = 64,
};

enum short_state { SHORT_FREE, SHORT_BUSY, SHORT_FLYING };

struct short_peer {
    uintptr_t comm; /* 0: none */
    int rank;
};

struct short_sends {
    size_t limit; /* bytes of the longest one; 0: none is sent so */
    enum short_state state;
    uint32_t passed; /* messages that found the slot taken */
    uintptr_t request;
    struct short_peer peers[SHORT_PEERS]; /* to which the host has sent one */
    _Alignas(LINE) char copy[SHORT_MAX];
};
extern struct short_sends short_sends;

static inline struct short_peer *short_peer_at(uintptr_t comm, int rank)
{
    return &short_sends.peers[(comm * 31 + (unsigned)rank) % SHORT_PEERS];
}

/* Has the host sent it? Must not wait, and may change the request. */
typedef bool short_sent_fn(uintptr_t *request);

/* A buffer of so many bytes has been attached. */
void short_open(size_t bytes, short_sent_fn *sent);

/* None is sent so any more. */
void short_close(void);

/* Until the last one has left, with progress of the host. */
void short_drain(void);

/* The host has sent one there. */
static inline void short_passed(uintptr_t comm, int rank)
{
    *short_peer_at(comm, rank) = (struct short_peer){comm, rank};
}

/* The communicator is being freed, and its handle may come back for another. */
void short_forget(uintptr_t comm);

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
    const struct short_peer *peer = short_peer_at(comm, rank);
    if (peer->comm != comm || peer->rank != rank || (unsigned)tag > SHORT_TAG_MAX)
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
