/* Messages that wait in the host's queues when an accelerated call returns.
 *
 * All ranks send, call MPI_Barrier, and receive as long as MPI_Iprobe finds messages: the standard
 * does not promise that MPI_Iprobe finds them all, but with the hosts it does, and programs rely
 * on it. The messages of the host's own collective come through the same queues as those that were
 * sent before it, which the host thus receives first. An accelerated collective looks into no
 * queue of the host. MPI_Iprobe, MPI_Testall and the like then fail: they look at what has been
 * received before they look into the queues. So the first of them that would fail after an
 * accelerated call is repeated.
 *
 * A program that has synchronised its threads may probe in another thread than the one that has
 * called the collective. So the flag belongs to the process.
 */
#ifndef MPIACCEL_UNSEEN_MESSAGES_H
#define MPIACCEL_UNSEEN_MESSAGES_H

#include "core/base.h"
#include "node/node.h"

#include <stdatomic.h>

extern _Atomic bool messages_may_be_unseen HIDDEN;

/* Call at the end of an accelerated call that waits for other ranks, which may have sent messages
 * before they called it. Only the first call writes to the flag, which other threads may read. */
static inline void note_unseen_messages(void)
{
    if (!atomic_load_explicit(&messages_may_be_unseen, memory_order_relaxed))
        atomic_store_explicit(&messages_may_be_unseen, true, memory_order_relaxed);
}

/* How often a call that finds nothing is to be repeated; clears the flag. In each call a host reads
 * the next 16 messages of its queue or more (UCX 16, Open MPI 31), and each member of the node may
 * have sent one. */
static inline uint32_t repetitions_for_unseen(void)
{
    enum { MESSAGES_PER_CALL = 16 };
    bool unseen = atomic_load_explicit(&messages_may_be_unseen, memory_order_relaxed);
    if (LIKELY(!unseen))
        return 0;
    atomic_store_explicit(&messages_may_be_unseen, false, memory_order_relaxed);
    return 2 + node.size / MESSAGES_PER_CALL;
}

#endif
