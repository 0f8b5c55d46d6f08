/* To whom the host has let a buffered message pass, by communicator and rank. What is sent from
 * here goes by another call of the host's, so it goes only there, or where else nothing can be
 * wrong: the host judges all arguments that are, and what it says of them names the call that the
 * program made.
 */
#ifndef MPIACCEL_PEERS_H
#define MPIACCEL_PEERS_H

#include "core/thread.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    PEERS = 64,
    /* Instead of a rank: */
    PEERS_SOME = -1,  /* to some rank */
    PEERS_NOBODY = -2 /* the place is empty; a communicator may be 0, if it is none */
};

struct peers {
    pthread_mutex_t mutex; /* locked if there are threads */
    _Atomic bool any;
    struct {
        uintptr_t comm;
        int rank;
    } at[PEERS]; /* the last of those that share a place */
};
extern struct peers peers;

static inline size_t peers_place(uintptr_t comm, int rank)
{
    return (comm * 31 + (unsigned)rank) % PEERS;
}

HOT_INLINE bool peers_know(uintptr_t comm, int rank)
{
    size_t i = peers_place(comm, rank);
    if (UNLIKELY(thread_concurrent))
        pthread_mutex_lock(&peers.mutex);
    bool known = peers.at[i].comm == comm && peers.at[i].rank == rank;
    if (UNLIKELY(thread_concurrent))
        pthread_mutex_unlock(&peers.mutex);
    return known;
}

/* The host has let one pass. */
HOT_INLINE void peers_passed(uintptr_t comm, int rank)
{
    size_t i = peers_place(comm, rank);
    if (UNLIKELY(thread_concurrent))
        pthread_mutex_lock(&peers.mutex);
    peers.at[i].comm = comm;
    peers.at[i].rank = rank;
    atomic_store_explicit(&peers.any, true, memory_order_relaxed);
    if (UNLIKELY(thread_concurrent))
        pthread_mutex_unlock(&peers.mutex);
}

/* The communicator is being freed, and its handle may come back for another. */
void peers_forget(uintptr_t comm);

#endif
